"""Reading a tape."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.errors import NotOnTape, TapeAltered, TapeUnreadable
from rerail.tape.chunks import Chunk
from rerail.tape.clean import CleanBytes
from rerail.tape.damage import Damaged
from rerail.tape.merkle import leaf_hash, root_of
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    HttpReplyBody,
    HttpRequest,
    RunEnded,
    RunStarted,
)


def change(path: Path, sql: str, *values: object) -> None:
    """Tamper with a tape."""
    connection = sqlite3.connect(path)
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def test_a_finished_tape_says_what_it_is(finished) -> None:
    with Tape.open(finished.path) as tape:
        assert tape.state == "finished"
        assert tape.run.run_id == "run-1"
        assert isinstance(tape.ended, RunEnded)
        assert tape.last_seq == 11
        assert [type(tape.event(seq)) for seq in (1, 2, 11)] == [RunStarted, HttpRequest, RunEnded]


def test_events_come_from_start_up_to_stop(finished) -> None:
    with Tape.open(finished.path) as tape:
        numbers = [event.seq for event in tape.events(start=3, stop=6)]
        assert numbers == [3, 4, 5]
        assert [event.seq for event in tape.events(start=10)] == [10, 11]
        assert list(tape.events(start=5, stop=5)) == list(tape.events(start=50)) == []


def test_events_can_be_read_in_any_order(start_run) -> None:
    run = start_run()
    for number in range(2, 1401):
        run.add(CaptureMissing(at=number, wall=number, what=f"thing {number}"))
    run.writer.close()
    with Tape.open(run.path) as tape:
        for seq in (1400, 2, 257, 256, 1000, 513, 3, 1300, 700):
            assert tape.event(seq).at == seq


@pytest.mark.parametrize("seq", [0, -1, 12, 10**12])
def test_an_event_that_is_not_there_is_named(finished, seq: int) -> None:
    with Tape.open(finished.path) as tape, pytest.raises(NotOnTape) as caught:
        tape.event(seq)
    assert str(seq) in caught.value.what
    assert "1 to 11" in (caught.value.hint or "")


def test_the_root_is_over_the_stored_bytes(finished) -> None:
    with Tape.open(finished.path) as tape:
        leaves = [leaf_hash(data) for _, data in tape.stored_events()]
        assert tape.root() == root_of(leaves)
        assert tape.seals()[-1].root == tape.root()
        assert tape.seals()[-1].tree_size == 11


def test_a_content_that_is_not_there_is_named(finished) -> None:
    with Tape.open(finished.path) as tape, pytest.raises(NotOnTape, match="abababababab"):
        tape.blob(b"\xab" * 32)


def test_a_content_whose_bytes_were_changed_is_altered(finished) -> None:
    with Tape.open(finished.path) as tape:
        good = tape.blob(finished.digests[0])
    change(finished.path, "UPDATE blob SET digest = ? WHERE id = 2", finished.digests[0])
    change(finished.path, "UPDATE blob SET digest = ? WHERE id = 1", b"\x01" * 32)
    with Tape.open(finished.path) as tape, pytest.raises(TapeAltered) as caught:
        tape.blob(finished.digests[0])
    assert "rerail verify" in (caught.value.hint or "")
    assert good


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE blob SET size = size + 1",
        "UPDATE blob SET size = -1",
        "UPDATE blob SET size = 1 << 60",
        "UPDATE blob SET size = 'many'",
        "UPDATE blob SET head = 5",
        "UPDATE blob SET tail = 1 << 40",
        "UPDATE blob SET frame = 77",
        "UPDATE blob SET frame = id",
        "UPDATE blob SET frame = NULL",
        "UPDATE blob SET body = 5",
        "UPDATE blob SET data = zeroblob(50)",
        "UPDATE blob SET data = 'text'",
        "UPDATE blob SET data = NULL",
        "DELETE FROM blob",
        "DELETE FROM blob WHERE id < 3",
    ],
)
def test_no_row_is_believed(finished, sql: str) -> None:
    change(finished.path, sql)
    with Tape.open(finished.path) as tape:
        for digest in (finished.digests[0], finished.digests[-1]):
            try:
                tape.blob(digest)
            except (TapeAltered, NotOnTape) as error:
                assert error.hint


def test_a_long_frame_is_refused(start_run) -> None:
    run = start_run()
    digests = [run.writer.blob(CleanBytes(b"x%d" % number), lane="") for number in range(70)]
    run.writer.close()
    change(run.path, "UPDATE blob SET frame = 1")
    with Tape.open(run.path) as tape, pytest.raises(TapeAltered, match="longer than allowed"):
        tape.blob(digests[-1])


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE event SET size = 0",
        "UPDATE event SET size = -5",
        "UPDATE event SET size = 1 << 50",
        "UPDATE event SET size = 'x'",
        "UPDATE event SET size = size + 1 WHERE seq = 1",
        "UPDATE event SET data = zeroblob(30) WHERE seq = 1",
        "UPDATE event SET data = 'x'",
        "DELETE FROM event WHERE seq = 1",
        "DELETE FROM event",
        "UPDATE event SET seq = seq + 1000",
        "UPDATE event SET seq = -seq",
    ],
)
def test_a_tape_without_a_beginning_is_unreadable(finished, sql: str) -> None:
    change(finished.path, sql)
    with pytest.raises(TapeUnreadable) as caught:
        Tape.open(finished.path)
    assert caught.value.hint


def test_a_missing_event_is_said_and_the_rest_stays_readable(start_run) -> None:
    run = start_run()
    for number in range(2, 601):
        run.add(CaptureMissing(at=number, wall=number, what="x"))
    run.writer.close()
    change(run.path, "DELETE FROM event WHERE seq = 300")
    with Tape.open(run.path) as tape:
        assert tape.event(299).seq == 299
        with pytest.raises(TapeAltered, match="event 300 is missing"):
            tape.event(300)
        assert tape.event(513).seq == 513


def test_a_half_body_is_there_up_to_its_last_committed_chunk(lost: Path) -> None:
    with Tape.open(lost) as tape:
        [body] = tape.unfinished()
    assert (body.exchange_id, body.side, body.size) == (3, "origin", 27)
    assert [chunk.size for chunk in body.chunks] == [13, 14]


def test_the_chunks_of_a_half_body_go_on_across_its_parts(start_run, tmp_path: Path) -> None:
    run = start_run()
    body = run.writer.body(exchange_id=9, side="origin")
    body.write(CleanBytes(b"a" * 10), at=1_000_000)
    body.write(CleanBytes(b"b" * 5), at=2_000_000)
    run.writer.flush()
    body.write(CleanBytes(b"c" * 7), at=3_000_000, continues=True)
    body.write(CleanBytes(b"d" * 3), at=4_000_000)
    run.writer.flush()
    body.write(CleanBytes(b"e" * 600_000), at=5_000_000, continues=True)
    with Tape.open(run.left_behind(tmp_path / "dead")) as tape:
        [half] = tape.unfinished()
        content = half.content()
    assert content == b"a" * 10 + b"b" * 5 + b"c" * 7 + b"d" * 3 + b"e" * 600_000
    assert half.chunks == (
        Chunk(10, 1_000_000),
        Chunk(12, 2_000_000),
        Chunk(600_003, 4_000_000),
    )


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE part SET size = 5",
        "UPDATE part SET side = 7",
        "UPDATE part SET exchange_id = 'x'",
        "UPDATE part SET chunks = x'ff'",
        "UPDATE part SET chunks = x'7f00'",
        "UPDATE part SET chunks = 'x'",
        "UPDATE part SET data = zeroblob(3)",
        "UPDATE part SET data = NULL WHERE 0",
        "UPDATE part SET id = id + 1",
    ],
)
def test_no_part_is_believed(lost: Path, sql: str) -> None:
    change(lost, sql)
    with Tape.open(lost) as tape:
        try:
            bodies = tape.unfinished()
            for body in bodies:
                body.content()
        except TapeAltered as error:
            assert error.hint


def test_a_tape_that_grows_can_be_followed(start_run) -> None:
    run = start_run()
    run.writer.flush()
    with Tape.open(run.path) as tape:
        assert (tape.state, tape.last_seq, tape.ended) == ("live", 1, None)
        for exchange_id in range(1, 120):
            run.exchange(exchange_id)
        run.writer.flush()
        assert tape.last_seq == 1 + 119 * 3
        assert tape.event(tape.last_seq).at == run.at
        for digest in run.digests:
            assert tape.blob(digest)
        run.end()
        assert tape.state == "finished"
        assert isinstance(tape.ended, RunEnded)
        assert tape.blob(run.digests[0])
    assert [file.name for file in run.path.parent.iterdir()] == [run.path.name]


def test_a_reader_does_not_keep_the_writer_from_closing(start_run) -> None:
    run = start_run()
    run.exchange(1)
    run.writer.flush()
    with Tape.open(run.path) as tape:
        events = tape.events()
        next(events)
        tape_id = run.end()
        assert len(list(events)) == 3
        assert tape.id == tape_id
    with Tape.open(run.path) as tape:
        assert tape.id == tape_id
        assert tape.state == "finished"
    connection = sqlite3.connect(f"file:{run.path}?immutable=1", uri=True)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [file for file in folder.iterdir() if file.is_file()]
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_reading_changes_nothing(finished, lost: Path) -> None:
    for path in (finished.path, lost):
        before = snapshot(path.parent)
        with Tape.open(path) as tape:
            list(tape.events())
            for digest in tape.evidence.digests():
                tape.blob(digest)
            tape.unfinished()
            tape.seals()
        assert snapshot(path.parent) == before


@pytest.mark.parametrize("which", ["finished", "lost"])
def test_flipped_bytes_never_end_in_a_traceback(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    fixture = request.getfixturevalue(which)
    path: Path = fixture if isinstance(fixture, Path) else fixture.path
    if which == "lost":
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
    good = path.read_bytes()
    bad = tmp_path / "flipped.tape"
    for place in range(0, len(good), len(good) // 400):
        data = bytearray(good)
        data[place] ^= 1 << place % 8
        bad.write_bytes(data)
        read_all(bad)


def read_all(path: Path) -> None:
    """Read whatever can be read; only the promised errors may come."""
    try:
        tape = Tape.open(path)
    except TapeUnreadable as error:
        assert error.hint
        return
    with tape:
        acts: list[Callable[[], object]] = [
            lambda: list(tape.events()),
            lambda: [tape.blob(digest) for digest in tape.evidence.digests()],
            lambda: [body.content() for body in tape.unfinished()],
            tape.seals,
            lambda: (tape.state, tape.ended, tape.id),
        ]
        for act in acts:
            try:
                act()
            except (TapeAltered, NotOnTape) as error:
                assert error.hint
            except Damaged as error:
                assert str(error)  # the reader's own parts speak half sentences


def test_a_tape_that_is_opened_leaves_no_descriptor_open(finished) -> None:
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(5):
        with Tape.open(finished.path) as tape:
            list(tape.events())
    assert len(list(descriptors.iterdir())) == before


def test_a_body_that_ended_is_a_half_one_until_its_event_is_there(
    start_run, tmp_path: Path
) -> None:
    run = start_run()
    run.request(1)
    body = run.writer.body(exchange_id=1, side="origin", lane="lane")
    body.write(CleanBytes(b"all of it"), at=run.at)
    said = body.finish(framing="length")
    assert said is not None
    with Tape.open(run.left_behind(tmp_path / "before")) as tape:
        [half] = tape.unfinished()
        assert half.content() == b"all of it"
    run.add(HttpReplyBody(at=run.at, wall=run.at, exchange_id=1, body=said))
    with Tape.open(run.left_behind(tmp_path / "after")) as tape:
        assert tape.unfinished() == []
        assert tape.blob(said.digest) == b"all of it"
