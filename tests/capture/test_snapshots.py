"""Snapshots while a run goes on: when they are taken, what they tell, who waits for them."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rerail.capture import snapshots
from rerail.capture.watched import SCANS
from rerail.capture.watched import Watched as Folder
from rerail.clock import file_time_ns
from rerail.errors import TapeWriteFailed
from rerail.tape.reader import Tape
from rerail.tape.records import SnapshotReason
from rerail.workspace.kept import Kept
from rerail.workspace.pack import Packer
from tests.capture.conftest import SECRET, Watched, settle

Watch = Callable[..., Watched]


def test_the_start_the_steps_the_children_and_the_end(watch: Watch) -> None:
    run = watch()
    (run.folder / "a").write_text("one")
    run.start()
    (run.folder / "b").write_text("two")
    run.workspace.snapshot("step", exchange_id=4).wait()
    (run.folder / "a").write_text("three")
    (run.folder / "b").unlink()
    (run.folder / "c").write_text("four")
    run.workspace.snapshot("child", process_id=7).wait()
    run.finish()
    start, step, child, end = run.snapshots
    assert [event.why for event in run.snapshots] == ["start", "step", "child", "end"]
    assert (step.exchange_id, child.process_id) == (4, 7)
    assert (child.added, child.changed, child.removed) == (1, 1, 1)
    assert (end.added, end.changed, end.removed) == (0, 0, 0)
    assert end.tree == child.tree
    assert (child.files, child.size) == (2, 9)
    assert run.trees[-1] == {".": "folder", "a": "file", "c": "file"}
    assert start.folder == str(run.folder)


def test_steps_that_wait_behind_each_other_are_one(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, begun = watch(), threading.Event()
    read, reads = Folder.read, []

    def slow(self: Folder, why: SnapshotReason) -> None:
        reads.append(why)
        assert begun.wait(10)
        read(self, why)

    monkeypatch.setattr(Folder, "read", slow)
    watched.start()
    asked = [watched.workspace.snapshot("step", exchange_id=number) for number in (1, 2, 3)]
    begun.set()
    assert all(one.wait(10) for one in asked)
    watched.finish()
    assert [(event.why, event.exchanges) for event in watched.snapshots] == [
        ("start", ()), ("step", (1, 2, 3)), ("end", ()),
    ]  # fmt: skip
    assert reads == ["start", "step", "end"]
    assert len({event.tree for event in watched.snapshots}) == 1


def test_a_small_folder_that_is_untouched_is_not_read_again(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watch()
    (run.folder / "a").write_text("one")
    settle(run.folder / "a")
    run.start()
    run.workspace.snapshot("child").wait()
    monkeypatch.setattr(Folder, "read", _not_again)
    assert _taken(run, 1)
    monkeypatch.undo()
    (run.folder / "a").write_text("two")
    assert _taken(run, 2)
    run.finish()
    assert [(event.why, event.exchanges, event.changed) for event in run.snapshots] == [
        ("start", (), 0), ("child", (), 0), ("step", (1,), 0), ("step", (2,), 1), ("end", (), 0),
    ]  # fmt: skip


def _not_again(self: Folder, why: SnapshotReason) -> None:
    raise AssertionError(f"read for {why}")


def _taken(run: Watched, number: int) -> bool:
    """Whether a step's snapshot is taken, once the thread has nothing to do."""
    while not run.workspace._idle:
        pass
    return run.workspace.snapshot("step", exchange_id=number).wait(10)


MAPPED = """
import mmap, sys
with open("data", "w+b") as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096)
for line in sys.stdin:
    memory[0:5] = line[:5].encode()
    print(flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_is_written_through_memory_is_in_the_next_snapshot(watch: Watch) -> None:
    run = watch()
    run.start()
    words = ("one  ", "two  ", "three", "four ")
    with subprocess.Popen(
        [sys.executable, "-c", MAPPED],
        cwd=run.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin and process.stdout
        for number, word in enumerate(words, 1):
            process.stdin.write(word + "\n")
            process.stdout.readline()
            settle(run.folder / "data")
            assert _taken(run, number)
        process.stdin.close()
    run.finish()
    with closing(Tape.open(run.recorder.writer.path)) as tape:
        kept = Kept(tape)
        trees = [kept.tree(event) for event in run.snapshots]
        files = [e.content for tree in trees for e in tree if e.name == "data"]
        assert [tape.blob(digest)[:5].decode() for digest in files] == [*words, words[-1]]


def test_an_unchanged_folder_has_the_same_tree(watch: Watch) -> None:
    run = watch()
    (run.folder / "a").write_text("one")
    run.start()
    run.finish()
    assert run.snapshots[0].tree == run.snapshots[1].tree


def test_what_is_left_out_is_named_once(watch: Watch) -> None:
    run = watch()
    (run.folder / ".env").write_text("KEY=1")
    (run.folder / "config").write_text(f"key: {SECRET}")
    run.start()
    run.workspace.snapshot("step", exchange_id=1).wait()
    (run.folder / "new.pem").write_text("x")
    run.finish()
    start, step, end = run.snapshots
    assert [(item.path, item.why) for item in start.not_captured] == [
        (".env", "may hold credentials"),
        ("config", "holds a secret of the environment"),
    ]
    assert step.not_captured == []
    assert [item.path for item in end.not_captured] == ["new.pem"]
    assert [event.left_out for event in run.snapshots] == [2, 2, 3]
    assert SECRET.encode() not in run.recorder.writer.path.read_bytes()


def test_what_is_included_and_excluded(watch: Watch) -> None:
    run = watch(include=[".env"], exclude=["*.log"])
    (run.folder / ".env").write_text("KEY=1")
    (run.folder / "a.log").write_text("x")
    run.start()
    run.finish()
    assert run.trees[0] == {".": "folder", ".env": "file", "a.log": "left out"}


def test_what_the_command_touches_during_the_first_scan_is_late(watch: Watch) -> None:
    run = watch()
    (run.folder / "before").write_text("one")
    began = (run.folder / "before").stat().st_ctime_ns + 1
    while file_time_ns() < began:
        pass
    (run.folder / "after").write_text("two")
    run.workspace.start(began)
    run.finish()
    start = run.snapshots[0]
    assert start.late == [".", "after"]
    assert start.inconsistent
    assert run.snapshots[1].late == []


def test_a_folder_that_keeps_changing_is_inconsistent(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watch()
    run.start()
    run.workspace.snapshot("step").wait()

    def changing() -> int:
        with (run.folder / "log").open("a") as log:
            log.write("a line\n")
        return 0

    changing()
    monkeypatch.setattr("rerail.capture.watched.file_time_ns", changing)
    run.workspace.snapshot("step").wait()
    monkeypatch.setattr("rerail.capture.watched.file_time_ns", lambda: 0)
    run.finish()
    assert [event.inconsistent for event in run.snapshots] == [False, False, True, False]
    assert (run.folder / "log").read_text().count("\n") == 1 + SCANS


def test_a_reply_that_would_not_wait_makes_its_snapshot_inconsistent(watch: Watch) -> None:
    run = watch()
    asked = run.workspace.snapshot("step")
    asked.overdue = True
    run.workspace.start(0)
    run.finish()
    assert run.snapshots[0].inconsistent


def test_further_folders_have_snapshots_of_their_own(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "session").write_text("x")
    run = watch(also=[tmp_path / "state"])
    run.start()
    run.finish()
    assert [(event.also, event.why) for event in run.snapshots] == [
        (False, "start"),
        (True, "start"),
        (False, "end"),
        (True, "end"),
    ]
    assert run.snapshots[1].folder == str(tmp_path / "state")


def test_the_tape_is_not_in_its_own_snapshots(tmp_path: Path, watch: Watch) -> None:
    run = watch(tape=tmp_path / "workspace" / "kept")
    for name in ("kept", "kept-wal", "kept.txt"):
        (run.folder / name).write_text("x")
    run.start()
    run.finish()
    assert run.trees[0] == {
        ".": "folder",
        "kept": "left out",
        "kept-wal": "left out",
        "kept.txt": "file",
    }


def test_a_name_with_a_secret_is_not_on_the_tape(watch: Watch) -> None:
    run = watch()
    (run.folder / SECRET).mkdir()
    (run.folder / SECRET / "inside").touch()
    (run.folder / "link").symlink_to(f"/tmp/{SECRET}")
    run.start()
    run.finish()
    assert run.trees[0] == {".": "folder"}
    assert SECRET.encode() not in run.recorder.writer.path.read_bytes()
    assert len(run.missing) >= 2


def test_a_folder_that_is_gone_is_said_once(watch: Watch) -> None:
    run = watch()
    run.start()
    run.workspace.snapshot("step").wait()
    shutil.rmtree(run.folder)
    run.workspace.snapshot("step").wait()
    run.finish()
    assert [event.why for event in run.snapshots] == ["start", "step"]
    [missing] = run.missing
    assert missing.what == "a folder cannot be snapshotted"


def test_a_folder_that_takes_too_long_is_left_alone_until_the_end(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watch()
    run.start()
    run.workspace.snapshot("step").wait()
    monkeypatch.setattr(snapshots, "STEP_NS", -1)
    for number in range(snapshots.SLOW_STEPS):
        (run.folder / f"{number}").touch()
        run.workspace.snapshot("step").wait()
    run.workspace.snapshot("child").wait()
    assert run.workspace.snapshot("step").taken
    run.finish()
    steps = ["step"] * (1 + snapshots.SLOW_STEPS)
    assert [event.why for event in run.snapshots] == ["start", *steps, "child", "end"]
    [missing] = run.missing
    assert "--exclude" in missing.detail


def test_who_waits_is_told_from_any_thread(watch: Watch) -> None:
    run = watch()
    told = threading.Event()
    asked = run.workspace.snapshot("step")
    asked.then(told.set)
    assert not asked.taken
    assert not asked.wait(0)
    run.start()
    assert told.wait(10)
    assert asked.taken
    again: list[str] = []
    asked.then(lambda: again.append("at once"))
    assert again == ["at once"]
    run.finish()


def test_nobody_waits_for_a_tape_that_cannot_be_written(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watch()
    (run.folder / "a").write_text("one")

    def full(*_: object) -> tuple[bytes, int]:
        raise TapeWriteFailed("the disk is full")

    monkeypatch.setattr(Packer, "keep", full)
    run.start()
    assert run.workspace.snapshot("step").wait(10)
    run.finish()
    assert run.snapshots == []


def test_a_fault_of_ours_is_said_and_stops_nobody(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watch()
    (run.folder / "a").write_text("one")

    def faulty(*_: object) -> tuple[bytes, int]:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(Packer, "keep", faulty)
    run.start()
    assert run.workspace.snapshot("step").wait(10)
    run.finish()
    [missing] = run.missing
    assert missing.detail == "ZeroDivisionError: of all things"


def test_names_that_are_no_text_are_kept(watch: Watch) -> None:
    run = watch()
    (run.folder / os.fsdecode(b"caf\xe9.pem")).touch()
    run.start()
    run.finish()
    assert run.snapshots[0].not_captured[0].path == r"caf\udce9.pem"
    assert "caf\udce9.pem" in run.trees[0]
