"""Writing a tape, and what a reader then finds."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerail.errors import TapeBusy, TapeExists, TapeWriteFailed
from rerail.tape import form
from rerail.tape.chunks import Chunk, decode_chunks
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, RunEnded, RunStarted
from rerail.tape.storage import Storage
from rerail.tape.writer import BodyWriter, TapeWriter

START = RunStarted(at=0, wall=1, run_id="r", task_id="t", writer="w", argv=["a"], cwd="/")


def missing(number: int) -> CleanRecord:
    return CleanRecord(CaptureMissing(at=number, wall=number, what=f"thing {number}"))


def write(body: BodyWriter, data: bytes, at: int = 0, *, continues: bool = False) -> None:
    body.write(CleanBytes(data), at=at, continues=continues)


def started(path: Path, **options: object) -> TapeWriter:
    writer = TapeWriter.create(path, **options)  # type: ignore[arg-type]
    writer.append(CleanRecord(START))
    return writer


def test_events_are_numbered_in_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    assert [writer.append(missing(number)) for number in range(600)] == list(range(2, 602))
    writer.close()
    with Tape.open(tmp_path / "x.tape") as tape:
        events = list(tape.events())
    assert [event.seq for event in events] == list(range(1, 602))
    assert [getattr(event, "what", "") for event in events[1:]] == [
        f"thing {number}" for number in range(600)
    ]


def test_several_threads_may_write(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    numbers: list[int] = []

    def work() -> None:
        numbers.extend(writer.append(missing(0)) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sorted(numbers) == list(range(2, 802))
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.last_seq == 801


def test_a_finished_tape_is_one_file_for_its_owner_alone(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    assert stat.S_IMODE((tmp_path / "x.tape").stat().st_mode) == 0o600
    tape_id = writer.close()
    assert [file.name for file in tmp_path.iterdir()] == ["x.tape"]
    assert stat.S_IMODE((tmp_path / "x.tape").stat().st_mode) == 0o600
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.id == tape_id
        assert tape_id.startswith("sha256:")


def test_a_finished_tape_opens_with_ordinary_tools(tmp_path: Path) -> None:
    started(tmp_path / "x.tape").close()
    connection = sqlite3.connect(f"file:{tmp_path / 'x.tape'}?mode=ro&immutable=1", uri=True)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert connection.execute("PRAGMA user_version").fetchone() == (form.VERSION,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert dict(connection.execute("SELECT name, value FROM meta"))["run_id"] == "r"
    connection.close()


def test_closing_again_gives_the_same_id(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    assert writer.close() == writer.close()


def test_what_comes_after_closing_is_dropped(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    writer.close()
    writer.append(missing(1))
    writer.flush()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.last_seq == 1


def test_an_existing_tape_is_not_overwritten(tmp_path: Path) -> None:
    started(tmp_path / "x.tape").close()
    before = (tmp_path / "x.tape").read_bytes()
    with pytest.raises(TapeExists) as caught:
        TapeWriter.create(tmp_path / "x.tape")
    assert "--force" in (caught.value.hint or "")
    assert (tmp_path / "x.tape").read_bytes() == before


def test_an_existing_tape_is_replaced_when_asked_for(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    writer.append(missing(1))
    writer.close()
    started(tmp_path / "x.tape", overwrite=True).close()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.last_seq == 1


@pytest.mark.parametrize("content", [b"print('the only copy')\n", b"SQLite format 3\0" + bytes(99)])
def test_what_is_no_tape_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    """`-o agent.py --force` is soon typed."""
    (tmp_path / "agent.py").write_bytes(content)
    with pytest.raises(TapeExists) as caught:
        TapeWriter.create(tmp_path / "agent.py", overwrite=True)
    assert "is no tape" in caught.value.what
    assert (tmp_path / "agent.py").read_bytes() == content


def test_the_empty_file_of_a_recorder_that_died_at_once_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.tape").touch()
    started(tmp_path / "x.tape", overwrite=True).close()


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_writers_cannot_write_one_tape(tmp_path: Path, overwrite: bool) -> None:
    writer = started(tmp_path / "x.tape")
    with pytest.raises((TapeBusy, TapeExists)) as caught:
        TapeWriter.create(tmp_path / "x.tape", overwrite=overwrite)
    assert isinstance(caught.value, TapeBusy) == overwrite
    writer.append(missing(1))
    writer.close()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.last_seq == 2


@pytest.mark.parametrize(
    ("name", "what"),
    [("no/such/folder.tape", "the folder is not there"), ("", "it is a folder")],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str, what: str) -> None:
    with pytest.raises((TapeWriteFailed, TapeExists)) as caught:
        TapeWriter.create(tmp_path / name, overwrite=True)
    assert what in caught.value.what
    assert caught.value.hint


def test_a_tape_that_was_removed_while_it_was_written_is_said(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    writer.append(missing(1))
    writer.flush()
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(TapeWriteFailed, match="it was removed while it was written"):
        writer.close()


def test_flush_means_that_it_is_committed(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    for number in range(20):
        writer.append(missing(number))
        writer.flush()
        with Tape.open(tmp_path / "x.tape") as tape:
            assert tape.last_seq == number + 2
            assert tape.state == "live"
    writer.close()


def committed_within(path: Path, seq: int, seconds: float) -> bool:
    deadline = monotonic() + seconds
    with Tape.open(path) as tape:
        while monotonic() < deadline:
            if tape.last_seq >= seq:
                return True
    return False


@pytest.mark.parametrize("urgent", [False, True])
def test_events_are_committed_without_being_asked_for(tmp_path: Path, urgent: bool) -> None:
    writer = started(tmp_path / "x.tape")
    writer.flush()
    seq = writer.append(missing(1), urgent=urgent)
    assert committed_within(tmp_path / "x.tape", seq, 5.0)
    writer.close()


@pytest.mark.parametrize("processors", [1, 2])
def test_the_thread_gives_way_where_it_shares_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    turns: list[int] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    monkeypatch.setattr(os, "sched_yield", lambda: turns.append(1), raising=False)
    writer = started(tmp_path / "x.tape")
    for number in range(100):
        writer.append(missing(number))
    writer.close()
    assert (len(turns) >= 10) == (processors == 1)


def test_a_body_comes_back_with_its_chunks(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    body = writer.body(exchange_id=1, side="origin", lane="lane")
    write(body, b"one", 1_000_000)
    write(body, b"two", 1_500_000)
    write(body, b"and a half", 9_000_000, continues=True)
    said = body.finish(framing="chunked", chunk_lines=b"3\r\n", trailers=b"x: y\r\n")
    writer.close()
    assert said is not None
    assert said.size == body.size == 16
    assert said.digest == sha256(b"onetwoand a half").digest()
    assert decode_chunks(said.chunks) == [Chunk(3, 1_000_000), Chunk(13, 1_500_000)]
    assert (said.framing, said.chunk_lines, said.trailers) == ("chunked", b"3\r\n", b"x: y\r\n")
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.blob(said.digest) == b"onetwoand a half"


def test_reads_that_are_not_exact_merge_when_they_are_close(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    body = writer.body(exchange_id=1, side="agent", exact=False)
    for at in (0, 400_000, 900_000, 1_100_000, 5_000_000):
        write(body, b"abc", at)
    said = body.finish(framing="length")
    writer.close()
    assert said is not None
    assert decode_chunks(said.chunks) == [Chunk(9, 0), Chunk(3, 1_100_000), Chunk(3, 5_000_000)]


def test_a_body_of_nothing_is_none(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    body = writer.body(exchange_id=1, side="origin")
    write(body, b"")
    assert body.finish(framing="length") is None
    assert writer.blob(CleanBytes(b"")) == sha256(b"").digest()
    writer.close()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.blob(sha256(b"").digest()) == b""
        assert tape.unfinished() == []


def test_a_content_is_stored_once(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    content = CleanBytes(os.urandom(2000))
    for lane in ("a", "b", ""):
        writer.blob(content, lane=lane)
    body = writer.body(exchange_id=1, side="origin", lane="c")
    write(body, content[:1000])
    writer.flush()
    write(body, content[1000:])
    body.finish(framing="length")
    writer.close()
    connection = sqlite3.connect(tmp_path / "x.tape")
    assert connection.execute("SELECT count(*) FROM blob").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM part").fetchone() == (0,)
    connection.close()


def test_a_large_body_stays_in_parts_and_comes_back(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    pieces = [os.urandom(700_000) for _ in range(5)] + [bytes(9_000_000)]
    body = writer.body(exchange_id=1, side="origin", lane="lane")
    for number, piece in enumerate(pieces):
        write(body, piece, number * 10_000_000)
    said = body.finish(framing="length")
    writer.close()
    assert said is not None
    assert [chunk.size for chunk in decode_chunks(said.chunks)] == [len(piece) for piece in pieces]
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.blob(said.digest) == b"".join(pieces)
        assert all(len(piece) <= form.PART_SIZE for piece in tape.blob_stream(said.digest))
        assert tape.unfinished() == []


def test_large_content_given_at_once_comes_back(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    content = os.urandom(1000) * 9000
    digest = writer.blob(CleanBytes(content))
    writer.close()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.blob(digest) == content


def test_the_backlog_is_what_is_not_yet_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    commit = Storage.commit

    def slow(storage: Storage) -> None:
        let_go.wait(30)
        commit(storage)

    monkeypatch.setattr(Storage, "commit", slow)
    writer = started(tmp_path / "x.tape")
    body = writer.body(exchange_id=1, side="origin")
    begun = monotonic()
    for _ in range(100):
        write(body, bytes(100_000))
    assert monotonic() - begun < 10
    assert writer.backlog >= 10_000_000
    before = writer.backlog
    for _ in range(1000):
        write(body, b"x")
    assert writer.backlog - before > 100_000, "a tiny piece takes more memory than its bytes"
    let_go.set()
    writer.flush()
    assert writer.backlog == 0
    writer.close()


def test_a_failure_is_told_once_and_to_everyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[TapeWriteFailed] = []
    writer = started(tmp_path / "x.tape", on_failure=told.append)
    writer.append(missing(1))
    writer.flush()

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Storage, "add_event", fail)
    writer.append(missing(2), urgent=True)
    for act in (writer.flush, writer.flush, writer.close, writer.close):
        with pytest.raises(TapeWriteFailed, match="disk I/O error"):
            act()
    assert told == [writer.failed]
    assert writer.backlog == 0
    writer.append(missing(3))
    write(writer.body(exchange_id=1, side="agent"), b"dropped")
    assert writer.backlog == 0
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.state == "lost"
        assert tape.last_seq == 2


def test_a_failure_at_the_very_end_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = started(tmp_path / "x.tape")
    writer.append(CleanRecord(RunEnded(at=1, wall=1, status=0)))
    writer.flush()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Storage, "finish", fail)
    with pytest.raises(TapeWriteFailed, match="the disk is full"):
        writer.close()
    with Tape.open(tmp_path / "x.tape") as tape:
        assert tape.state == "finished"


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.binary(max_size=40) | st.sampled_from([b"the same again " * 400, b"x" * 9000]),
        st.sampled_from(["add", "add", "end", "flush"]),
    ),
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_bodies_that_arrive_at_the_same_time_do_not_mix(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bytes, str]]
) -> None:
    path = tmp_path_factory.mktemp("bodies") / "x.tape"
    writer = started(path)
    open_bodies: dict[int, tuple[BodyWriter, bytes]] = {}
    complete: dict[bytes, bytes] = {}
    for place, (number, data, step) in enumerate(steps):
        body, content = open_bodies.get(
            number, (writer.body(exchange_id=number + 1, side="origin", lane="lane"), b"")
        )
        write(body, data, place * 1_000_000)
        open_bodies[number] = (body, content + data)
        if step == "end":
            body, content = open_bodies.pop(number)
            said = body.finish(framing="length")
            if said is not None:
                complete[said.digest] = content
        elif step == "flush":
            writer.flush()
    writer.close()
    with Tape.open(path) as tape:
        for digest, content in complete.items():
            assert tape.blob(digest) == content
        half = {body.exchange_id: body.content() for body in tape.unfinished()}
    assert half == {number + 1: content for number, (_, content) in open_bodies.items() if content}


def test_many_lanes_do_not_fill_the_memory(tmp_path: Path) -> None:
    writer = started(tmp_path / "x.tape")
    contents = [b"lane %d says " % number + os.urandom(50) for number in range(300)]
    digests = [
        writer.blob(CleanBytes(content + b"%d" % turn), lane=f"lane {number}")
        for turn in range(2)
        for number, content in enumerate(contents)
    ]
    writer.close()
    lanes = writer._keeper.blobs
    assert lanes.growing == 0
    with Tape.open(tmp_path / "x.tape") as tape:
        for turn in range(2):
            for number, content in enumerate(contents):
                assert tape.blob(digests[turn * 300 + number]) == content + b"%d" % turn


def test_a_history_that_grows_is_stored_as_what_is_new(
    tmp_path: Path, start_run: Callable[..., object]
) -> None:
    writer = started(tmp_path / "x.tape")
    history = [os.urandom(1000).hex().encode() for _ in range(80)]
    digests = [
        writer.blob(CleanBytes(b"[" + b",".join(history[:turn]) + b"] tools"), lane="chat")
        for turn in range(1, 81)
    ]
    writer.close()
    assert (tmp_path / "x.tape").stat().st_size < 2.5 * 80 * 1000
    with Tape.open(tmp_path / "x.tape") as tape:
        for turn in (80, 1, 64, 65, 40):
            expected = b"[" + b",".join(history[:turn]) + b"] tools"
            assert tape.blob(digests[turn - 1]) == expected


def test_the_loaded_modules_stay_few() -> None:
    """Recording must start fast: no dataclass of a reader, no repair."""
    import subprocess
    import sys

    code = "import sys, rerail.tape.writer; print(*sorted(sys.modules))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    for unwanted in ("rerail.tape.reader", "rerail.tape.repair", "asyncio", "ssl", "tempfile"):
        assert unwanted not in modules
