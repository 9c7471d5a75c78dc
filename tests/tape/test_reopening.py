"""A tape whose writer is gone can be gone on with, by one successor at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import TapeBusy, TapeEnded
from rerail.tape import form
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, RunEnded
from rerail.tape.reopening import reopen, settle
from rerail.tape.seal import verify
from rerail.tape.writer import TapeWriter

StartRun = Callable[..., Any]


def missing(what: str) -> CleanRecord:
    return CleanRecord(CaptureMissing(at=0, wall=0, what=what))


def finish(writer: TapeWriter) -> None:
    writer.append(CleanRecord(RunEnded(at=1, wall=1, status=0)))
    writer.close()


@pytest.mark.parametrize("events", [1, 2, 255, 256, 257, 600])
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "closed"])
def test_what_was_there_and_what_came_after_are_one_intact_tape(
    start_run: StartRun, tmp_path: Path, events: int, killed: bool
) -> None:
    run = start_run()
    for number in range(events - 1):
        run.writer.append(missing(f"before {number}"))
    run.writer.blob(CleanBytes(b"state " * 5000), lane="state")
    if killed:
        path = run.left_behind(tmp_path / "lost")
    else:
        run.writer.close()
        path = run.path
    writer = reopen(path)
    assert writer.append(missing("after")) == events + 1
    writer.seal()
    writer.flush(synced=True)
    with Tape.open(path) as tape:
        assert tape.last_seq == events + 1
    finish(writer)
    with Tape.open(path) as tape:
        assert [event.seq for event in tape.events()] == list(range(1, events + 3))
        assert tape.event(events + 1).what == "after"  # type: ignore[attr-defined]
        assert verify(tape).intact
        assert tape.state == "finished"


def test_a_tape_goes_on_again_and_again(start_run: StartRun) -> None:
    run = start_run()
    run.writer.close()
    for number in range(5):
        writer = reopen(run.path)
        writer.blob(CleanBytes(b"state %d " % number * 900), lane="state")
        writer.append(missing(str(number)))
        writer.close()
    writer = reopen(run.path)
    finish(writer)
    with Tape.open(run.path) as tape:
        assert verify(tape).intact
        assert tape.last_seq == 7


def test_bodies_that_were_arriving_keep_their_numbers(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run()
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin")
    body.write(CleanBytes(b"half"), at=1)
    path = run.left_behind(tmp_path / "lost")
    writer = reopen(path)
    large = CleanBytes(b"x" * (form.BLOB_SIZE + 1))
    digest = writer.blob(large)
    finish(writer)
    with Tape.open(path) as tape:
        assert tape.blob(digest) == large
        assert [half.content() for half in tape.unfinished()] == [b"half"]


def test_one_at_a_time(start_run: StartRun) -> None:
    run = start_run()
    with pytest.raises(TapeBusy):
        reopen(run.path)


def test_a_run_that_has_ended_is_over(finished: Any) -> None:
    before = finished.path.read_bytes()
    with pytest.raises(TapeEnded):
        reopen(finished.path)
    with Tape.open(finished.path) as tape:
        assert verify(tape).intact
    assert finished.path.read_bytes() == before


def test_what_a_writer_killed_at_its_very_end_left_beside_the_tape_is_brought_into_it(
    start_run: StartRun, tmp_path: Path
) -> None:
    run = start_run()
    run.writer.append(CleanRecord(RunEnded(at=1, wall=1, status=0)))
    run.writer.seal()
    path = run.left_behind(tmp_path / "lost")
    assert path.with_name("run.tape-wal").exists()
    settle(path)
    assert [place.name for place in path.parent.iterdir()] == ["run.tape"]
    with Tape.open(path) as tape:
        assert (tape.state, verify(tape).intact) == ("finished", True)
    alone = path.read_bytes()
    settle(path)
    assert path.read_bytes() == alone


def test_a_tape_that_is_being_written_is_not_settled(start_run: StartRun) -> None:
    run = start_run()
    run.writer.flush()
    with pytest.raises(TapeBusy):
        settle(run.path)
