"""Which files and tools of a step a person is shown."""

import stat

import pytest

from rerail.cli.shown import scores
from rerail.cli.shown.scores import files_text, files_values
from rerail.tape.trees import Entry
from rerail.workspace.changes import Changes


def file(path: str) -> Entry:
    return Entry(path.encode(), "file", stat.S_IFREG | 0o644, content=bytes(32))


def folder(path: str) -> Entry:
    return Entry(path.encode(), "folder", stat.S_IFDIR | 0o755)


CHANGES = Changes(
    added=(file(".git/objects/ab"), file("new.ts")),
    removed=(file("old.ts"),),
    changed=((folder("src"), folder("src")), (file("src/a.ts"), file("src/a.ts"))),
)


def test_each_file_stands_with_what_became_of_it() -> None:
    assert files_text(CHANGES) == "+ new.ts, - old.ts, ~ src/a.ts, + .git/objects/ab"
    assert files_values(CHANGES) == {
        "added": [".git/objects/ab", "new.ts"], "changed": ["src/a.ts"], "removed": ["old.ts"]
    }  # fmt: skip
    assert files_text(None) == ""
    assert files_values(None) is None


def test_a_person_is_shown_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "for_person", lambda: True)
    assert files_text(CHANGES) == "+ new.ts, - old.ts, ~ src/a.ts, 1 more"
