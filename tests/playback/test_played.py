"""One connection of a replay: answers in the order of the questions, ends as the origin's did."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rerail.playback.played import PlayedSession
from rerail.playback.stage import Stage
from rerail.proxy.handler import OriginUnreachable, Session
from rerail.tape.reader import Tape
from rerail.tape.records import BodyEnd, ConnectionFailed
from rerail.testing.tapes import Recording
from tests.playback.agents_end import HOST, ROUTE, Wire, get, stage_of

LENGTH = "Content-Length: %d\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
Open = Callable[[], tuple[Stage, Session, Wire]]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording.begin(tmp_path / "run.tape")


@pytest.fixture
def connection(recording: Recording) -> Iterator[Open]:
    """`connection()` ends the recording and opens a connection of its replay."""
    tapes: list[Tape] = []

    def opened() -> tuple[Stage, Session, Wire]:
        recording.end()
        tapes.append(Tape.open(recording.path))
        stage, wire = stage_of(tapes[0]), Wire()
        return stage, stage.session(ROUTE, wire), wire

    yield opened
    for tape in tapes:
        tape.close()


def answered(recording: Recording, *texts: str) -> None:
    """Requests of `/0`, `/1` …, each answered with one of the texts."""
    for number, text in enumerate(texts):
        recording.request(number + 1, target=f"/{number}")
        recording.reply(number + 1, [text.encode()], headers=LENGTH % len(text))


def bodies(said: bytes) -> list[bytes]:
    return [piece.partition(b"\r\n\r\n")[2] for piece in said.split(b"HTTP/1.1 200 OK\r\n")[1:]]


def test_what_is_asked_in_one_go_is_answered_in_its_order(
    recording: Recording, connection: Open
) -> None:
    answered(recording, "one", "two", "three")
    _, session, wire = connection()
    session.received(get("/2") + get("/0") + get("/1"))
    assert bodies(wire.said) == [b"three", b"one", b"two"]
    assert wire.end == ""
    assert session.idle


def test_a_request_may_come_byte_by_byte(recording: Recording, connection: Open) -> None:
    recording.request(1, b"abc", method="POST", headers=LENGTH % 3)
    recording.reply(1, [b"well"], headers=LENGTH % 4)
    _, session, wire = connection()
    asked = get("/", LENGTH % 3).replace(b"GET", b"POST") + b"abc"
    for at in range(len(asked)):
        assert wire.said == b""
        session.received(asked[at : at + 1])
    assert bodies(wire.said) == [b"well"]


def test_an_agent_that_reads_slowly_is_sent_no_more(recording: Recording, connection: Open) -> None:
    recording.request(1)
    recording.reply(1, [b"a", b"b", b"c"], headers=CHUNKED, framing="chunked")
    _, session, wire = connection()
    written: list[bytes] = []

    def write(data: bytes) -> None:
        written.append(data)
        session.writable(False)

    wire.write = write  # type: ignore[method-assign]
    session.received(get("/"))
    for count in range(1, 6):
        assert len(written) == count
        session.writable(True)
    assert b"".join(written).endswith(b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("ended", "headers", "end"),
    [
        ("complete", LENGTH % 3, ""),
        ("complete", "Connection: close\r\n" + LENGTH % 3, "closed"),
        ("cut", LENGTH % 9, "closed"),
        ("reset", LENGTH % 9, "reset"),
        ("truncated", LENGTH % 9, "cut"),
        ("timeout", LENGTH % 9, ""),
    ],
)
def test_the_connection_ends_as_it_did(
    recording: Recording, connection: Open, ended: BodyEnd, headers: str, end: str
) -> None:
    recording.request(1)
    recording.reply(1, [b"abc"], headers=headers, ended=ended)
    _, session, wire = connection()
    session.received(get("/"))
    assert wire.said.endswith(b"abc")
    assert wire.end == end


def test_a_reply_that_was_cut_off_by_silence_lets_nothing_else_be_answered(
    recording: Recording, connection: Open
) -> None:
    recording.request(1, target="/silent")
    recording.reply(1, [b"abc"], headers=LENGTH % 9, ended="timeout")
    recording.request(2, target="/next")
    recording.reply(2, [b"next"], headers=LENGTH % 4)
    _, session, wire = connection()
    session.received(get("/silent") + get("/next"))
    assert b"next" not in wire.said
    assert not session.idle


def test_an_agent_that_leaves_is_let_go(recording: Recording, connection: Open) -> None:
    answered(recording, "one")
    _, session, wire = connection()
    session.received(get("/0")[:-2])
    session.ended()
    assert wire.end == "closed"
    session.received(b"\r\n")
    assert wire.said == b""


def test_bytes_whose_end_nobody_knows_are_refused_and_that_is_said(
    recording: Recording, connection: Open
) -> None:
    stage, session, wire = connection()
    session.received(get("/", "Content-Length: many\r\n"))
    assert wire.end == "closed"
    (note,) = stage.player.ledger.notes
    assert note.startswith(f"a connection to {HOST}:443 was refused: ")


def test_a_request_that_is_not_on_the_tape_is_refused_and_the_next_one_is_answered(
    recording: Recording, connection: Open
) -> None:
    answered(recording, "one")
    stage, session, wire = connection()
    session.received(get("/other") + get("/0"))
    assert wire.said.startswith(b"HTTP/1.1 4")
    assert wire.said.endswith(b"one")
    assert [len(stage.player.ledger.numbers(how)) for how in ("refused", "exact")] == [1, 1]


def test_a_body_that_waits_to_be_asked_for_is_asked_for(
    recording: Recording, connection: Open
) -> None:
    waits = "Expect: 100-continue\r\n" + LENGTH % 3
    recording.request(1, b"abc", method="POST", headers=waits)
    recording.reply_head(1, status="100 Continue", headers="")
    recording.reply(1, [b"well"], headers=LENGTH % 4)
    _, session, wire = connection()
    session.received(get("/", waits).replace(b"GET", b"POST"))
    assert wire.said == b"HTTP/1.1 100 Continue\r\n\r\n"
    session.received(b"abc")
    assert wire.said.count(b"100 Continue") == 1
    assert bodies(wire.said) == [b"well"]


def test_with_the_recorded_pauses_a_piece_comes_when_it_is_due(recording: Recording) -> None:
    answered(recording, "one")
    recording.end()

    async def play() -> tuple[bytes, bytes]:
        with Tape.open(recording.path) as tape:
            wire, done = Wire(), asyncio.Event()
            session = stage_of(tape, pace="0.01").session(ROUTE, wire)
            write = wire.write

            def told(data: bytes) -> None:
                write(data)
                done.set()

            wire.write = told  # type: ignore[method-assign]
            session.received(get("/0"))
            before = wire.said
            await asyncio.wait_for(done.wait(), 60)
            return before, wire.said

    before, after = asyncio.run(play())
    assert before == b""
    assert bodies(after) == [b"one"]


def test_an_origin_that_could_not_be_reached_is_not_now(
    recording: Recording, connection: Open
) -> None:
    recording.event(
        ConnectionFailed, connection_id=1, host=HOST, port=443, phase="resolve", reason="no name",
        shown="502",
    )  # fmt: skip
    _, session, _ = connection()
    with pytest.raises(OriginUnreachable, match="no name"):
        asyncio.run(session.connect())


def test_in_tls_it_is_an_https_origin_that_is_asked(recording: Recording) -> None:
    answered(recording, "one")
    recording.end()
    with Tape.open(recording.path) as tape:
        wire, tunnel = Wire(), replace(ROUTE, scheme="http", tunnel=True)
        session = PlayedSession(stage_of(tape), tunnel, wire)
        assert asyncio.run(session.secure(HOST, alpn=False)) is None
        session.received(get("/0"))
    assert bodies(wire.said) == [b"one"]
