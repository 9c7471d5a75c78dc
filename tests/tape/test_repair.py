"""Saving what can be saved."""

import json
import sqlite3
from pathlib import Path

import pytest

from rerail.errors import RerailError, TapeBusy, TapeExists, TapeUnreadable, TapeWriteFailed
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.clean import CleanBytes
from rerail.tape.exchange import exchanges
from rerail.tape.frames import compressed
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    Event,
    HttpReplyBody,
    HttpRequest,
    HttpRequestBody,
    RunEnded,
    RunLost,
    RunStarted,
    TunnelClosed,
    TunnelOpened,
)
from rerail.tape.repair import Repaired, repair
from rerail.tape.seal import verify
from tests.tape.conftest import Run


def repaired(source: Path, target: Path) -> tuple[Repaired, list[Event]]:
    before = {file.name: file.read_bytes() for file in source.parent.glob(f"{source.name}*")}
    result = repair(source, target)
    after = {file.name: file.read_bytes() for file in source.parent.glob(f"{source.name}*")}
    assert before == after
    json.dumps(result.to_dict())
    assert str(target) in result.to_text()
    assert not Path(f"{target}.partial").exists()
    with Tape.open(target) as tape:
        assert tape.id == result.tape_id
        return result, list(tape.events())


def sql(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def intact(path: Path) -> bool:
    with Tape.open(path) as tape:
        return verify(tape).intact


def test_of_a_lost_tape_everything_committed_is_kept(lost: Path, tmp_path: Path) -> None:
    with Tape.open(lost) as tape:
        before = [data for _, data in tape.stored_events()]
        contents = {digest: tape.blob(digest) for digest in tape.evidence.digests()}
    result, events = repaired(lost, tmp_path / "new.tape")
    with Tape.open(tmp_path / "new.tape") as tape:
        assert [data for _, data in tape.stored_events(stop=10)] == before
        assert {digest: tape.blob(digest) for digest in contents} == contents
        assert tape.state == "lost"
        *_, last = exchanges(tape)
        assert last.reply_body is not None
        body = last.reply_body.body
        assert body is not None
        assert tape.blob(body.digest) == b"data: first\n\ndata: second\n\n"
        assert verify(tape).intact
    assert last.reply_body.ended == "cut"
    assert body.framing == "chunked"
    assert [chunk.size for chunk in decode_chunks(body.chunks)] == [13, 14]
    assert isinstance(events[-1], RunLost)
    assert result.lost == ()
    assert result.cut == ("a body of exchange 3, from the origin, is cut after 27 bytes",)
    assert "nothing that was committed is lost" in result.to_text()


def test_a_repaired_tape_needs_no_repair(lost: Path, tmp_path: Path) -> None:
    repaired(lost, tmp_path / "once.tape")
    result, events = repaired(tmp_path / "once.tape", tmp_path / "twice.tape")
    assert (result.lost, result.cut) == ((), ())
    assert [type(event) for event in events].count(RunLost) == 1
    with Tape.open(tmp_path / "once.tape") as once, Tape.open(tmp_path / "twice.tape") as twice:
        assert once.id == twice.id


def test_a_finished_tape_is_copied_with_its_id(finished: Run, tmp_path: Path) -> None:
    result, events = repaired(finished.path, tmp_path / "new.tape")
    with Tape.open(finished.path) as tape:
        assert tape.id == result.tape_id
    assert isinstance(events[-1], RunEnded)
    assert intact(tmp_path / "new.tape")


def test_events_that_cannot_be_read_leave_a_record_in_their_place(
    start_run, tmp_path: Path
) -> None:
    run = start_run()
    for number in range(2, 600):
        run.add(CaptureMissing(at=number, wall=number, what=f"thing {number}"))
    run.end()
    sql(run.path, "DELETE FROM event WHERE seq = 300")
    result, events = repaired(run.path, tmp_path / "new.tape")
    assert result.lost == ("events 300 to 512 cannot be read: event 300 is missing",)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[299], CaptureMissing)
    assert events[299].what == "part of the tape could not be read"
    assert "events 300 to 512" in events[299].detail
    assert isinstance(events[300], CaptureMissing)
    assert events[300].what == "thing 513"
    assert isinstance(events[-1], RunEnded)
    assert intact(tmp_path / "new.tape")


def test_a_lost_beginning_is_made_up_from_what_is_known(start_run, tmp_path: Path) -> None:
    run = start_run()
    for number in range(2, 300):
        run.add(CaptureMissing(at=number, wall=10**18 + number, what=f"thing {number}"))
    run.end()
    sql(run.path, "DELETE FROM event WHERE seq = 1")
    with pytest.raises(TapeUnreadable, match="event 1 is missing"):
        Tape.open(run.path)
    result, events = repaired(run.path, tmp_path / "new.tape")
    assert result.run_id == "run-1"
    assert isinstance(events[0], RunStarted)
    assert (events[0].run_id, events[0].task_id, events[0].wall) == ("run-1", "task-1841", 10**18)
    assert isinstance(events[1], CaptureMissing)
    assert len(result.lost) == 1


def test_a_content_that_cannot_be_read_is_named(finished: Run, tmp_path: Path) -> None:
    sql(finished.path, "DELETE FROM blob WHERE digest = ?", finished.digests[-1])
    result, events = repaired(finished.path, tmp_path / "new.tape")
    assert len(events) == 11
    assert result.contents == 5
    assert len(result.lost) == 1
    assert finished.digests[-1].hex()[:12] in result.lost[0]
    assert not intact(tmp_path / "new.tape")


def with_a_large_body(run: Run) -> bytes:
    """A finished run whose reply is too large for one row."""
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin")
    for number in range(40):
        body.write(CleanBytes(number.to_bytes(2, "big") * (1 << 17)), at=number)
    said = body.finish(framing="length")
    assert said is not None
    run.add(HttpReplyBody(at=1, wall=1, exchange_id=1, body=said))
    run.end()
    return said.digest


def test_a_large_content_is_copied_part_by_part(start_run, tmp_path: Path) -> None:
    run = start_run()
    digest = with_a_large_body(run)
    result, _ = repaired(run.path, tmp_path / "new.tape")
    assert result.lost == ()
    with Tape.open(run.path) as old, Tape.open(tmp_path / "new.tape") as new:
        assert new.blob(digest) == old.blob(digest)
        assert new.unfinished() == []


def test_of_a_large_content_with_a_torn_part_nothing_is_left_behind(
    start_run, tmp_path: Path
) -> None:
    run = start_run()
    digest = with_a_large_body(run)
    sql(run.path, "UPDATE part SET data = x'00' WHERE id & 16777215 = 7")
    result, _ = repaired(run.path, tmp_path / "new.tape")
    assert digest.hex()[:12] in result.lost[0]
    with Tape.open(tmp_path / "new.tape") as tape:
        assert tape.unfinished() == []
        assert digest not in tape.evidence.digests()


def test_bodies_that_were_arriving_may_be_beyond_reading(lost: Path, tmp_path: Path) -> None:
    sql(lost, "UPDATE part SET side = 9")
    result, events = repaired(lost, tmp_path / "new.tape")
    assert "bodies that were arriving cannot be read" in result.lost[0]
    assert isinstance(events[-1], RunLost)


def test_what_is_no_event_is_a_gap(finished: Run, tmp_path: Path) -> None:
    with Tape.open(finished.path) as tape:
        events = [data for _, data in tape.stored_events()]
    events[4] = b"\x93\x01\x02\x03"
    frame = compressed(b"".join(events))
    sql(finished.path, "UPDATE event SET data = ? WHERE seq = 1", frame)
    sql(finished.path, "UPDATE event SET size = 4 WHERE seq = 5")
    result, saved = repaired(finished.path, tmp_path / "new.tape")
    assert result.lost[0] == "event 5 cannot be read: not an event"
    assert isinstance(saved[4], CaptureMissing)
    assert len(saved) == 11


def test_nothing_can_be_saved_from_a_tape_without_events(finished: Run, tmp_path: Path) -> None:
    sql(finished.path, "DELETE FROM event")
    with pytest.raises(TapeUnreadable, match="not one of its events"):
        repair(finished.path, tmp_path / "new.tape")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.tape"]


def test_half_bodies_become_the_events_they_belong_to(start_run, tmp_path: Path) -> None:
    run = start_run()
    run.request(1)
    run.add(
        HttpRequest(
            at=5,
            wall=5,
            exchange_id=2,
            connection_id=2,
            scheme="http",
            host="h",
            port=80,
            head=b"PUT / HTTP/1.1\r\n\r\n",
            unfinished=True,
        )
    )
    run.add(TunnelOpened(at=6, wall=6, connection_id=9, host="h", port=22, why="not HTTP"))
    bodies = {
        number: run.writer.body(exchange_id=number, side=side)
        for number, side in {0: "origin", 1: "origin", 2: "agent", 3: "agent"}.items()
    }
    for number, body in bodies.items():
        body.write(CleanBytes(b"half of %d" % number), at=7_000_000)
    source = run.left_behind(tmp_path / "dead")
    result, events = repaired(source, tmp_path / "new.tape")
    tunnel, reply, request, nowhere, end = events[-5:]
    assert isinstance(tunnel, TunnelClosed)
    assert (tunnel.connection_id, tunnel.sent, tunnel.ended) == (9, None, "cut")
    assert isinstance(reply, HttpReplyBody)
    assert isinstance(request, HttpRequestBody)
    assert isinstance(nowhere, CaptureMissing)
    assert "9 bytes" in nowhere.detail
    assert isinstance(end, RunLost)
    assert len(result.cut) == 4
    with Tape.open(tmp_path / "new.tape") as tape:
        for body, number in ((tunnel.received, 0), (reply.body, 1), (request.body, 2)):
            assert body is not None
            assert tape.blob(body.digest) == b"half of %d" % number
            assert decode_chunks(body.chunks) == [Chunk(9, 7_000_000)]
        assert tape.unfinished() == []


def test_a_large_half_body_is_kept_in_parts(start_run, tmp_path: Path) -> None:
    run = start_run()
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin")
    pieces = [number.to_bytes(3, "big") * 100_000 for number in range(40)]
    for number, piece in enumerate(pieces):
        body.write(CleanBytes(piece), at=number * 1_000_000)
    source = run.left_behind(tmp_path / "dead")
    _, events = repaired(source, tmp_path / "new.tape")
    reply = events[-2]
    assert isinstance(reply, HttpReplyBody)
    assert reply.body is not None
    assert reply.body.size == 12_000_000
    assert len(decode_chunks(reply.body.chunks)) == 40
    with Tape.open(tmp_path / "new.tape") as tape:
        assert tape.blob(reply.body.digest) == b"".join(pieces)


def test_a_half_body_with_a_torn_part_is_kept_up_to_it(start_run, tmp_path: Path) -> None:
    run = start_run()
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin")
    for number in range(4):
        body.write(CleanBytes(b"%d" % number * 10), at=number * 1_000_000)
        run.writer.flush()
    source = run.left_behind(tmp_path / "dead")
    sql(source, "UPDATE part SET data = x'00' WHERE id & 16777215 = 2")
    result, events = repaired(source, tmp_path / "new.tape")
    assert "cannot be read to its end" in result.lost[0]
    reply = events[-2]
    assert isinstance(reply, HttpReplyBody)
    assert reply.body is not None
    assert reply.body.size == 20
    assert decode_chunks(reply.body.chunks) == [Chunk(10, 0), Chunk(10, 1_000_000)]


def test_a_tape_that_is_being_written_is_left_alone(start_run, tmp_path: Path) -> None:
    run = start_run()
    run.writer.flush()
    with pytest.raises(TapeBusy) as caught:
        repair(run.path, tmp_path / "new.tape")
    assert caught.value.hint


def test_an_existing_file_is_not_overwritten(finished: Run, tmp_path: Path) -> None:
    for target in (finished.path, tmp_path / "run.tape"):
        with pytest.raises(TapeExists):
            repair(finished.path, target)


def test_a_target_that_cannot_be_written_is_named(finished: Run, tmp_path: Path) -> None:
    with pytest.raises(TapeWriteFailed, match="the folder is not there"):
        repair(finished.path, tmp_path / "no" / "new.tape")


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\x00" + bytes(84)])
def test_what_is_no_tape_is_unreadable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tape").write_bytes(content)
    with pytest.raises(TapeUnreadable):
        repair(tmp_path / "x.tape", tmp_path / "new.tape")
    assert not (tmp_path / "new.tape").exists()


def attempt(source: Path, target: Path) -> int:
    """Repair; returns how many events were saved, 0 if it was refused."""
    try:
        result = repair(source, target)
    except TapeUnreadable as error:
        assert error.hint
        return 0
    with Tape.open(target) as tape:
        assert len(list(tape.events())) == result.events
    target.unlink()
    return result.events


@pytest.mark.parametrize("which", ["finished", "lost"])
def test_a_tape_cut_at_any_byte_is_saved_or_refused(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    fixture = request.getfixturevalue(which)
    path: Path = fixture if isinstance(fixture, Path) else fixture.path
    longest = Path(f"{path}-wal") if which == "lost" else path
    data = longest.read_bytes()
    saved = []
    for length in [*range(0, len(data), len(data) // 60), len(data)]:
        longest.write_bytes(data[:length])
        saved.append(attempt(path, tmp_path / "new.tape"))
    assert saved == sorted(saved)
    assert saved[-1] == 11


def test_a_long_tape_cut_short_gives_its_beginning(start_run, tmp_path: Path) -> None:
    run = start_run()
    for exchange_id in range(1, 700):
        run.exchange(exchange_id)
    run.end()
    data = run.path.read_bytes()
    cut = tmp_path / "cut.tape"
    cut.write_bytes(data[: len(data) * 3 // 4])
    with pytest.raises(TapeUnreadable, match="bytes are missing"):
        Tape.open(cut)
    assert attempt(cut, tmp_path / "new.tape") > 200


@pytest.mark.parametrize("which", ["finished", "lost"])
def test_a_tape_with_any_bit_flipped_is_saved_or_refused(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    fixture = request.getfixturevalue(which)
    path: Path = fixture if isinstance(fixture, Path) else fixture.path
    for suffix in ("", "-wal"):
        source = Path(f"{path}{suffix}")
        if not source.exists():
            continue
        good = source.read_bytes()
        for place in range(0, len(good), len(good) // 50 + 1):
            data = bytearray(good)
            data[place] ^= 4
            source.write_bytes(data)
            try:
                attempt(path, tmp_path / "new.tape")
            except RerailError as error:
                assert error.hint
        source.write_bytes(good)


def test_where_a_repair_can_save_nothing_it_does_not_recommend_itself(
    finished: Run, tmp_path: Path
) -> None:
    data = bytearray(finished.path.read_bytes())
    at = data.rindex(b"CREATE TABLE")
    data[at + 3 : at + 9] = b"XXXXXX"
    broken = tmp_path / "broken.tape"
    broken.write_bytes(data)
    with pytest.raises(TapeUnreadable) as caught:
        repair(broken, tmp_path / "new.tape")
    assert caught.value.hint == "nothing can be saved from it; take another copy"
    assert not (tmp_path / "new.tape").exists()
