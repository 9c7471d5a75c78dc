"""A folder that holds exactly what was given, and nothing outside it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.errors import UsageProblem
from rerail.tools.layout import Changes, Layout, inside

NAMES = st.sampled_from(["a.ts", "b.ts", "src/a.ts", "src/deep/c.ts", "lib/d.ts"])
CONTENTS = st.dictionaries(NAMES, st.text(alphabet="xyé\n", max_size=4), max_size=5)


def there(root: Path) -> dict[str, str]:
    return {
        place.relative_to(root).as_posix(): place.read_bytes().decode()
        for place in root.rglob("*")
        if place.is_file()
    }


@given(rounds=st.lists(CONTENTS, min_size=1, max_size=4))
def test_the_folder_holds_what_was_given_last(
    rounds: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("layout")
    layout = Layout(root)
    before: dict[str, str] = {}
    for files in rounds:
        changes = layout.put(files)
        assert there(root) == files
        assert set(changes.created) == files.keys() - before.keys()
        assert set(changes.deleted) == before.keys() - files.keys()
        assert set(changes.changed) == {
            path for path in files.keys() & before.keys() if files[path] != before[path]
        }
        before = files
    assert not [place for place in root.rglob("*") if place.is_dir() and not any(place.iterdir())]


def test_the_same_again_is_no_change(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.put({"a": "1"})
    assert layout.put({"a": "1"}) == Changes()
    assert not layout.put({"a": "1"})


def test_half_a_character_is_written_as_something(tmp_path: Path) -> None:
    Layout(tmp_path).put({"a.ts": "\ud834"})
    assert (tmp_path / "a.ts").read_bytes() == b"?"


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a/", ".", "a\0b", "a\\b"]
)
def test_a_path_that_leads_elsewhere_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        inside(path)
    with pytest.raises(UsageProblem):
        Layout(tmp_path / "root").put({"a.ts": "", path: "x"})
    assert not (tmp_path / "root" / "a.ts").exists()


def test_a_file_that_would_be_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be written"):
        Layout(tmp_path).put({"a": "1", "a/b": "2"})
