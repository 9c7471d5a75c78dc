"""The copy that a replay works in: what of the recorded files, what of the present ones."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.playback.scratch import Scratch
from rerail.sandbox.view import Bind
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording
from rerail.workspace.pack import FILE_SIZE, digest_of

Change = Callable[[Path], None]


def nothing(_: Path) -> None:
    """The run, or the user, changes nothing."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "agent.py").write_text("version 1")
    (folder / "src" / "data.txt").write_text("data")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def scratch(tmp_path: Path, project: Path) -> Iterator[Callable[..., Scratch]]:
    """`scratch(run, since)`: a tape of a run, and a copy after what the user did `since`."""
    with ExitStack() as stack:

        def make(run: Change = nothing, since: Change = nothing, overlay: bool = True) -> Scratch:
            tape = Recording.begin(tmp_path / "run.tape", cwd=str(project))
            tape.snapshot(project, "start", folder=str(project))
            run(project)
            tape.snapshot(project, "end", folder=str(project))
            tape.end()
            since(project)
            opened = Tape.open(tape.path)
            stack.callback(opened.close)
            made = Scratch.make(opened, overlay=overlay)
            assert made is not None
            return stack.enter_context(made)

        yield make


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_copy_is_what_was_recorded_at_the_start(
    scratch: Callable[..., Scratch], project: Path
) -> None:
    def run(folder: Path) -> None:
        (folder / "report.md").write_text("the run's own")
        (folder / "src" / "data.txt").unlink()

    copy = scratch(run).workspace
    assert listing(copy.place) == ["agent.py", "empty", "src", "src/data.txt"]
    assert copy.place.stat().st_mtime_ns == copy.start[0].mtime_ns
    assert (copy.laid_on_top, copy.as_recorded) == ([], [])


def test_changed_code_is_laid_on_top(scratch: Callable[..., Scratch]) -> None:
    def since(folder: Path) -> None:
        (folder / "agent.py").write_text("version 2")
        (folder / "lib").mkdir()
        (folder / "lib" / "helper.py").write_text("new")
        (folder / "link").symlink_to("agent.py")

    copy = scratch(since=since).workspace
    assert copy.laid_on_top == ["agent.py", "lib/helper.py", "link"]
    assert (copy.place / "agent.py").read_text() == "version 2"
    assert (copy.place / "lib" / "helper.py").read_text() == "new"
    assert (copy.place / "link").readlink() == Path("agent.py")


def test_without_an_overlay_nothing_is(scratch: Callable[..., Scratch]) -> None:
    copy = scratch(since=lambda folder: (folder / "agent.py").write_text("2"), overlay=False)
    assert copy.workspace.laid_on_top == []
    assert (copy.workspace.place / "agent.py").read_text() == "version 1"


def test_what_the_run_wrote_itself_is_as_it_was_before_it(scratch: Callable[..., Scratch]) -> None:
    def run(folder: Path) -> None:
        (folder / "src" / "data.txt").write_text("written by the run")
        (folder / "report.md").write_text("written by the run")

    def again(folder: Path) -> None:
        (folder / "src" / "data.txt").write_text("written by another run")

    copy = scratch(run, again).workspace
    assert (copy.place / "src" / "data.txt").read_text() == "data"
    assert not (copy.place / "report.md").exists()
    assert (copy.laid_on_top, copy.as_recorded) == ([], ["src/data.txt"])


def test_a_file_that_is_gone_now_is_as_recorded(scratch: Callable[..., Scratch]) -> None:
    copy = scratch(since=lambda folder: (folder / "agent.py").unlink()).workspace
    assert (copy.place / "agent.py").read_text() == "version 1"


def test_a_file_with_another_time_alone_is_not_changed(scratch: Callable[..., Scratch]) -> None:
    copy = scratch(since=lambda folder: os.utime(folder / "agent.py", (1, 1))).workspace
    assert copy.laid_on_top == []
    assert (copy.place / "agent.py").stat().st_mtime > 1


def left_out(folder: Path) -> None:
    for name in ("node_modules", "__pycache__", "runs"):
        (folder / name).mkdir()
        (folder / name / "inside").write_text("as it is now")
    for name in (".env", "own.tape", "gone.pem"):
        (folder / name).write_text("as it is now")


def test_what_was_left_out_is_seen_as_it_is_now(
    scratch: Callable[..., Scratch], project: Path
) -> None:
    left_out(project)
    made = scratch(since=lambda folder: (folder / "gone.pem").unlink())
    copy = made.workspace
    assert made.binds == [
        Bind(copy.place, project),
        Bind(project / ".env", project / ".env", read_only=True),
        Bind(project / "node_modules", project / "node_modules", read_only=True),
    ]
    names = {path.name for path in copy.place.iterdir()}
    assert {".env", "node_modules", "__pycache__", "runs", "own.tape"} <= names
    assert copy.empty == ["gone.pem"]
    assert (copy.place / "gone.pem").read_bytes() == b""
    assert list((copy.place / "node_modules").iterdir()) == []
    assert (copy.place / "own.tape").read_bytes() == b""


def test_a_large_file_is_not_read_but_shown(
    scratch: Callable[..., Scratch], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(descriptor: int, facts: os.stat_result, _: bool) -> tuple[bytes, int]:
        assert facts.st_size <= FILE_SIZE
        return digest_of(descriptor, facts, False)

    def run(folder: Path) -> None:
        large(folder / "weights.bin")

    def since(folder: Path) -> None:
        (folder / "sets").mkdir()
        large(folder / "sets" / "data.bin")
        (folder / ".env").write_text("KEY=1")
        (folder / "later.tape").write_text("a tape")

    def large(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(FILE_SIZE + 1)

    monkeypatch.setattr("rerail.workspace.present.digest_of", read)
    copy = scratch(run, since).workspace
    assert sorted(copy.shown) == [".env", "sets/data.bin"]
    there = [".env", "agent.py", "empty", "sets", "sets/data.bin", "src", "src/data.txt"]
    assert listing(copy.place) == there
    assert (copy.laid_on_top, copy.led) == ([], ["sets"])


def test_where_nothing_can_be_mounted_there_are_links(
    scratch: Callable[..., Scratch], project: Path
) -> None:
    left_out(project)
    made = scratch()
    made.show_by_links()
    place = made.workspace.place
    assert (place / "node_modules" / "inside").read_text() == "as it is now"
    assert (place / ".env").readlink() == project / ".env"
    assert place.stat().st_mtime_ns == made.workspace.start[0].mtime_ns


def test_how_the_files_end(scratch: Callable[..., Scratch]) -> None:
    def run(folder: Path) -> None:
        (folder / "report.md").write_text("recorded")
        (folder / "src" / "data.txt").write_text("recorded")

    made = scratch(run, lambda folder: (folder / "agent.py").write_text("2"))
    place = made.workspace.place
    run(place)
    assert not made.differences()
    (place / "report.md").write_text("otherwise")
    (place / "src" / "data.txt").unlink()
    (place / "more").write_text("x")
    (place / "__pycache__").mkdir()
    found = made.differences()
    assert [entry.name for entry in found.added] == ["more"]
    assert [entry.name for entry in found.removed] == ["src/data.txt"]
    assert [now.name for _, now in found.changed] == ["report.md"]


def test_the_copy_can_be_kept(
    scratch: Callable[..., Scratch], project: Path, tmp_path: Path
) -> None:
    left_out(project)
    made = scratch()
    (made.workspace.place / "more").write_text("x")
    made.keep(tmp_path / "kept")
    assert (tmp_path / "kept" / "more").read_text() == "x"
    assert not (tmp_path / "kept" / ".env").exists()
    made.close()
    assert (tmp_path / "kept" / "agent.py").exists()


def test_nothing_is_left_behind(
    scratch: Callable[..., Scratch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scratch()
    base = made.workspace.place.parent
    assert base.stat().st_mode & 0o777 == 0o700
    (made.workspace.place / "closed").mkdir(mode=0)
    (made.workspace.place / "out").symlink_to(tmp_path)
    made.close()
    assert not base.exists()
    assert tmp_path.exists()


def test_what_a_killed_replay_left_is_removed_by_the_next_that_ends(
    scratch: Callable[..., Scratch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, going_on = (tmp_path / f"rerail-copy-{name}" for name in ("a", "b"))
    for base in (killed, going_on):
        (base / "0").mkdir(parents=True)
        (base / "lock").write_text("\n")
    with (going_on / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        scratch().close()
    assert [path.name for path in tmp_path.glob("rerail-*")] == ["rerail-copy-b"]


def test_a_pipe_and_a_socket_are_there_and_lead_to_nobody(
    scratch: Callable[..., Scratch], project: Path
) -> None:
    os.mkfifo(project / "pipe")
    os.mknod(project / "socket", stat.S_IFSOCK | 0o600)
    copy = scratch().workspace
    assert (copy.place / "pipe").is_fifo()
    assert (copy.place / "socket").is_socket()
    assert copy.empty == []
    assert copy.place.stat().st_mtime_ns == copy.start[0].mtime_ns


def test_a_path_in_the_folder_is_found_in_the_copy(
    scratch: Callable[..., Scratch], project: Path
) -> None:
    made = scratch()
    assert made.place_of(project / "src") == made.workspace.place / "src"
    assert made.place_of(Path("/elsewhere")) == Path("/elsewhere")


def test_a_project_that_has_moved_is_known_by_its_files(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Recording.begin(tmp_path / "run.tape")
    tape.snapshot(project, "start", folder="/nowhere/project")
    tape.end()
    (project / "agent.py").write_text("version 2")
    with Tape.open(tape.path) as opened:
        for folder, laid in ((project, ["agent.py"]), (project / "empty", [])):
            monkeypatch.chdir(folder)
            with Scratch.make(opened, overlay=True) or pytest.fail("no copy") as made:
                assert made.workspace.laid_on_top == laid


def test_a_tape_without_snapshots_has_no_copy(tmp_path: Path) -> None:
    tape = Recording.begin(tmp_path / "run.tape")
    tape.end()
    with Tape.open(tape.path) as opened:
        assert Scratch.make(opened, overlay=True) is None


def test_further_folders_have_copies_of_their_own(tmp_path: Path, project: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "session").write_text("x")
    (state / ".env").write_text("x")
    tape = Recording.begin(tmp_path / "run.tape", cwd=str(project))
    tape.snapshot(project, "start", folder=str(project))
    tape.snapshot(state, "start", folder=str(state), also=True)
    tape.end()
    with (
        Tape.open(tape.path) as opened,
        Scratch.make(opened, overlay=True) or pytest.fail() as made,
    ):
        assert [bind.target for bind in made.binds] == [project, state, state / ".env"]
        assert (made.copies[1].place / "session").read_text() == "x"
