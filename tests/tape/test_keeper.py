"""From facts to rows."""

import os
import sqlite3
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from rerail.errors import InternalError
from rerail.tape import blobs, form
from rerail.tape.frames import NOTHING
from rerail.tape.keeper import Keeper
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, RunStarted
from rerail.tape.seal import verify
from rerail.tape.storage import Storage

START = RunStarted(at=0, wall=1, run_id="r", task_id="t", writer="w", argv=["a"], cwd="/")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tape"


def closed(storage: Storage, keeper: Keeper) -> None:
    keeper.finish()
    storage.commit()
    storage.finish()


def begun(path: Path) -> tuple[Storage, Keeper]:
    storage = Storage.create(path)
    storage.begin()
    keeper = Keeper(storage)
    keeper.event(START, 1)
    return storage, keeper


@pytest.mark.parametrize("in_a_hurry", [False, True])
def test_a_frame_of_events_is_packed_when_it_is_full_and_there_is_time(
    path: Path, in_a_hurry: bool
) -> None:
    storage, keeper = begun(path)
    keeper.blobs.in_a_hurry = in_a_hurry
    for seq in range(2, 301):
        keeper.event(CaptureMissing(at=seq, wall=seq, what=f"thing {seq}"), seq)
    storage.commit()
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    sql = "SELECT count(*) FROM event WHERE seq <= 256 AND length(data) > 0"
    assert reader.execute(sql).fetchone() == (256 if in_a_hurry else 1,)
    reader.close()
    storage.begin()
    closed(storage, keeper)
    with Tape.open(path) as tape:
        assert [event.seq for event in tape.events()] == list(range(1, 301))


def test_what_comes_in_a_batch_is_one_piece_of_its_frame(path: Path) -> None:
    storage, keeper = begun(path)
    contents = [os.urandom(400) for _ in range(12)]
    for seq, content in enumerate(contents, 2):
        keeper.event(CaptureMissing(at=seq, wall=seq, what=content.hex()), seq)
        keeper.blobs.keep(sha256(content).digest(), content, f"lane {seq % 2}")
    keeper.write()
    storage.commit()
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for table, key, pieces in (("event", "seq", 1), ("blob", "id", 2)):
        sql = f"SELECT length(data) FROM {table} ORDER BY {key}"
        sizes = [size for [size] in reader.execute(sql)]
        assert len(sizes) == (13 if table == "event" else 12)
        assert all(size > 400 for size in sizes[:pieces])
        assert set(sizes[pieces:]) == {len(NOTHING)}
    reader.close()
    with Tape.open(path) as tape:
        assert tape.state == "live"
        assert [event.seq for event in tape.events()] == list(range(1, 14))
        for content in reversed(contents):
            assert tape.blob(sha256(content).digest()) == content
    storage.begin()
    closed(storage, keeper)


@pytest.mark.parametrize("seed", range(3))
def test_batches_of_any_length_are_read_along_and_in_the_end(path: Path, seed: int) -> None:
    random = Random(seed)
    storage, keeper = begun(path)
    bodies, seq = [b"begin"], 1
    for _ in range(25):
        for _ in range(random.choice((0, 1, 3, 60))):
            seq += 1
            body = bodies[-1][-4000:] + random.randbytes(random.choice((1, 300, 3000)))
            bodies.append(body)
            keeper.blobs.keep(sha256(body).digest(), body, random.choice(("a", "b", "")))
            large = random.choice((1, 1, 1, 200_000))
            keeper.event(CaptureMissing(at=seq, wall=seq, what=f"{seq} " * large), seq)
        keeper.blobs.in_a_hurry = random.random() < 0.5
        keeper.write()
        storage.commit()
        with Tape.open(path) as tape:
            assert [event.seq for event in tape.events()] == list(range(1, seq + 1))
            some = random.choice(bodies[1:] or [b""])
            assert not some or tape.blob(sha256(some).digest()) == some
        storage.begin()
    closed(storage, keeper)
    with Tape.open(path) as tape:
        assert verify(tape).intact
        assert [tape.blob(sha256(body).digest()) for body in bodies[1:]] == bodies[1:]


def test_an_event_larger_than_a_tape_may_hold_is_refused(path: Path) -> None:
    storage, keeper = begun(path)
    with pytest.raises(InternalError, match="larger than a tape may hold"):
        keeper.event(CaptureMissing(at=1, wall=1, what="x" * form.EVENT_SIZE), 2)
    closed(storage, keeper)


def test_lanes_that_are_not_used_make_room_for_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "_LANES_BYTES", 3 << 20)
    storage, keeper = begun(path)
    contents = [os.urandom(5000) for _ in range(10)]
    for turn in range(2):
        for number, content in enumerate(contents):
            body = content + b"%d" % turn
            keeper.blobs.keep(sha256(body).digest(), body, f"lane {number}")
    closed(storage, keeper)
    with Tape.open(path) as tape:
        for digest in tape.evidence.digests():
            assert tape.blob(digest)[:5000] in contents
        frames = {tape.evidence.find(digest).frame for digest in tape.evidence.digests()}
    assert len(frames) == 20


def test_a_body_that_outgrows_its_window_begins_a_new_frame(path: Path) -> None:
    storage, keeper = begun(path)
    bodies = [os.urandom(size) for size in (1000, 300_000, 200_000)]
    for body in bodies:
        keeper.blobs.keep(sha256(body).digest(), body, "lane")
    closed(storage, keeper)
    with Tape.open(path) as tape:
        rows = [tape.evidence.find(sha256(body).digest()) for body in bodies]
        assert [row.frame for row in rows] == [1, 2, 2]
        assert [tape.blob(sha256(body).digest()) for body in bodies] == bodies


def test_bodies_that_only_shrink_do_not_make_a_frame_too_long(path: Path) -> None:
    storage, keeper = begun(path)
    longest = os.urandom(6000)
    bodies = [longest[: 6000 - turn] for turn in range(150)]
    for body in bodies:
        keeper.blobs.keep(sha256(body).digest(), body, "lane")
    closed(storage, keeper)
    with Tape.open(path) as tape:
        assert [tape.blob(sha256(body).digest()) for body in bodies] == bodies
    assert path.stat().st_size < 40_000


@pytest.mark.parametrize("seed", range(4))
def test_bodies_edited_at_random_come_back(path: Path, seed: int) -> None:
    random = Random(seed)
    storage, keeper = begun(path)
    body, bodies = random.randbytes(5000), []
    for _ in range(200):
        start, end = sorted(random.randrange(len(body) + 1) for _ in range(2))
        cut = random.choice((start, min(end, start + 300)))
        new = random.randbytes(random.choice((0, 1, 200))) + body[: random.choice((0, 500))]
        body = (body[:start] + new + body[cut:]) or b"x"
        bodies.append(body)
        keeper.blobs.keep(sha256(body).digest(), body, "lane")
    closed(storage, keeper)
    with Tape.open(path) as tape:
        for place in random.sample(range(200), 200):
            assert tape.blob(sha256(bodies[place]).digest()) == bodies[place]
