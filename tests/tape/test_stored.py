"""The stored bytes of events, and the stretches that cannot be read."""

import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from rerail.tape import form
from rerail.tape.damage import Damaged, Missing
from rerail.tape.frames import FrameWriter
from rerail.tape.opening import open_tape_file
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing
from rerail.tape.repair import repair
from rerail.tape.seal import verify
from rerail.tape.stored import StoredEvents


@pytest.fixture
def long(start_run) -> Path:
    """A tape of 1100 events."""
    run = start_run()
    for number in range(2, 1100):
        run.add(CaptureMissing(at=number, wall=number, what=f"thing {number}"))
    run.end()
    return run.path


def sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def stretches(path: Path) -> list[tuple[str, type[Damaged] | None]]:
    """The stretches of a tape, readable events that follow each other as one."""
    opened = open_tape_file(path)
    try:
        found: list[tuple[int, int, type[Damaged] | None]] = []
        for stretch in StoredEvents(opened.connection).walk():
            kind = type(stretch.damage) if stretch.damage is not None else None
            if kind is None and found and found[-1][2] is None:
                found[-1] = (found[-1][0], stretch.last, None)
            else:
                found.append((stretch.first, stretch.last, kind))
    finally:
        opened.close()
    return [(f"{first}-{last}", kind) for first, last, kind in found]


def test_a_sound_tape_is_one_stretch(long: Path) -> None:
    assert stretches(long) == [("1-1100", None)]


def test_a_missing_event_hides_the_rest_of_its_frame(long: Path) -> None:
    sql(long, "DELETE FROM event WHERE seq = 300")
    assert stretches(long) == [("1-299", None), ("300-512", Missing), ("513-1100", None)]


def test_neighbouring_damage_is_one_stretch(long: Path) -> None:
    sql(long, "DELETE FROM event WHERE seq BETWEEN 300 AND 600")
    assert stretches(long) == [("1-299", None), ("300-768", Missing), ("769-1100", None)]


def test_a_torn_frame_is_read_up_to_the_tear(long: Path) -> None:
    sql(long, "UPDATE event SET data = substr(data, 1, length(data) - 40) WHERE seq = 513")
    first, torn, rest = stretches(long)
    assert first[1] is None
    assert torn[1] is Damaged
    assert rest == ("769-1100", None)


def test_a_missing_end_of_the_last_frame_is_no_damage(long: Path) -> None:
    sql(long, "DELETE FROM event WHERE seq > 1090")
    assert stretches(long) == [("1-1090", None)]


@pytest.mark.parametrize("number", ["1 << 62", "5000000"])
def test_a_number_that_cannot_be_does_not_keep_anyone_busy(
    long: Path, tmp_path: Path, number: str
) -> None:
    sql(long, f"UPDATE event SET seq = {number} WHERE seq = 1100")
    opened = open_tape_file(long)
    with pytest.raises(Damaged, match="more than there can be"):
        StoredEvents(opened.connection).last()
    opened.close()
    with Tape.open(long) as tape:
        assert not verify(tape).intact
    result = repair(long, tmp_path / "new.tape")
    assert result.events >= 1099


def test_an_event_can_be_had_by_its_number(long: Path) -> None:
    opened = open_tape_file(long)
    stored = StoredEvents(opened.connection)
    assert stored.read(0) is None
    assert stored.read(1101) is None
    assert stored.read(1100)
    assert stored.last() == 1100
    opened.close()


def test_a_few_bytes_that_stand_for_gigabytes_of_events_are_never_in_memory_at_once() -> None:
    writer, count = FrameWriter(17), 32
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(form.TABLES[1])
        content = bytes(form.EVENT_SIZE)
        rows = [(seq, len(content), writer.piece(content)) for seq in range(1, count + 1)]
        connection.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)
        connection.execute("CREATE TABLE large AS SELECT zeroblob(20000)")
        stored = StoredEvents(connection)
        tracemalloc.start()
        try:
            assert sum(stored.read(seq) == content for seq in (count, 1, 2, count)) == 4
            seen = 0
            while some := stored.in_frame(seen + 1):
                seen += len(some)
            [_, peak] = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert seen == count
    assert peak < 8 * form.EVENT_SIZE
