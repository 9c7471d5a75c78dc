"""Where a replay's command runs, and what the report says of it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import UserError
from rerail.playback import place as places
from rerail.playback.place import Place, place_for
from rerail.playback.scratch import Scratch
from rerail.sandbox.choose import Unconfined
from rerail.sandbox.view import Bind, View
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording


class Asked:
    """A choice of sandboxes that notes what it was asked for; `placing` says what it can do."""

    def __init__(self, *, placing: bool) -> None:
        self.placing = placing
        self.binds: Sequence[Bind] = ()
        self.writable: Sequence[Path] | None = None
        self.sockets: Sequence[Path] = ()

    def __call__(
        self,
        *,
        binds: Sequence[Bind] = (),
        writable: Sequence[Path] | None = None,
        private: Sequence[Path] = (),
        sockets: Sequence[Path] = (),
    ) -> Unconfined:
        self.binds, self.writable, self.sockets = binds, writable, sockets
        sandbox = Unconfined("a test", View())
        if self.placing:
            sandbox.view = View.of(binds=binds, writable=writable)
        return sandbox


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "agent.py").write_text("version 1")
    return folder


@pytest.fixture
def begin(tmp_path: Path, project: Path) -> Iterator[Callable[..., Any]]:
    """`begin(choose)` prepares a place for a tape of the project."""

    opened: list[Tape] = []

    def make(choose: Asked | None, *, snapshots: bool = True, **more: Any) -> Any:
        tape = Recording.begin(tmp_path / "run.tape", cwd=str(project))
        if snapshots:
            tape.snapshot(project, "start", folder=str(project))
        tape.end()
        given: dict[str, Any] = {"files": "present", "folder": project, "why": ""} | more
        opened.append(Tape.open(tape.path))
        return place_for(opened[-1], environment={}, choose=choose, **given)

    yield make
    for one in opened:
        one.close()


def test_a_copy_is_seen_at_its_recorded_path(begin: Callable[..., Any], project: Path) -> None:
    asked = Asked(placing=True)
    with begin(asked) as place:
        assert place.folder == project
        assert [bind.target for bind in asked.binds] == [project, project / "node_modules"]
        assert asked.writable == [place.run_folder]
        assert asked.sockets == [place.run_folder / "channel"]
        [seen] = place.folders
        assert (seen.path, seen.place != project) == (str(project), True)
        assert seen.not_its_own == (b"node_modules",)
        used = place.used()
        assert place.run_folder.is_dir()
    assert not place.run_folder.exists()
    assert (used.files, used.folder, used.at_recorded_path) == ("present", str(project), True)
    assert (used.shown, used.differing) == (["node_modules"], 0)


@pytest.mark.parametrize("choose", [Asked(placing=False), None])
def test_or_at_its_own(begin: Callable[..., Any], project: Path, choose: Asked | None) -> None:
    with begin(choose) as place:
        assert place.folder != project
        assert (place.folder / "agent.py").exists()
        assert (place.folder / "node_modules").is_symlink()
        assert place.folders[0].path == str(place.folder)
        assert not place.used().at_recorded_path


def test_how_it_ends_is_told_with_names(begin: Callable[..., Any]) -> None:
    with begin(None) as place:
        (place.folder / "agent.py").write_text("otherwise")
        (place.folder / "new").write_text("x")
        used = place.used()
    assert (used.differing, used.differs) == (2, ["agent.py", "new (only here)"])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"files": "in-place"}, ""),
        ({"snapshots": False}, "the tape has no snapshots"),
        ({"why": "a stranger chose those on the tape"}, "a stranger chose those on the tape"),
    ],
)
def test_without_a_copy_the_folder_itself_is_taken(
    begin: Callable[..., Any], project: Path, more: dict[str, Any], why: str
) -> None:
    asked = Asked(placing=True)
    with begin(asked, **more) as place:
        assert (place.folder, place.scratch) == (project, None)
        assert place.folders == []
        assert asked.writable is None
        used = place.used()
    assert (used.files, used.why) == ("in-place", why)


def test_a_copy_is_gone_at_the_end_unless_it_is_kept(
    begin: Callable[..., Any], tmp_path: Path
) -> None:
    with begin(None, keep=tmp_path / "kept") as place:
        (place.folder / "new").write_text("x")
    assert not place.folder.exists()
    assert (tmp_path / "kept" / "new").read_text() == "x"


def test_a_copy_that_cannot_be_made_is_an_error(
    begin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Scratch:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(places.Scratch, "make", full)
    with pytest.raises(UserError, match="No space left") as caught, begin(None):
        pass
    assert caught.value.hint is not None
    assert "--workspace in-place" in caught.value.hint


def test_a_copy_that_cannot_be_read_is_said(
    begin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Scratch) -> None:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(Scratch, "differences", gone)
    with begin(None) as place:
        assert isinstance(place, Place)
        assert "cannot be read" in place.used().why


def test_where_it_is_seen_elsewhere_a_folder_among_temporary_ones_may_be_written(
    begin: Callable[..., Any], project: Path, tmp_path: Path
) -> None:
    def choose(**_: object) -> Unconfined:
        sandbox = Unconfined("a test", View())
        sandbox.view = View.of(private=[tmp_path])
        return sandbox

    with begin(choose) as place:
        assert place.reached() == [
            f"what named {project} by its path may have written in it: it is in {tmp_path}"
        ]


def test_a_folder_with_a_mount_in_it_is_not_private(
    begin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {Path("/tmp"): Path("/tmp/mounted")}
    monkeypatch.setattr(places, "mounted_inside", lambda _: inside)
    with begin(Asked(placing=True)) as place:
        assert place.reached() == [
            "what was written in /tmp was written for real: /tmp/mounted is mounted in it"
        ]


def test_without_a_sandbox_nothing_is_said_to_be_kept_off(begin: Callable[..., Any]) -> None:
    with begin(None) as place:
        assert place.reached() == []
