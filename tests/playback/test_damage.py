"""A replay of a tape that was changed: nothing altered is passed off as what was recorded."""

import asyncio
import sqlite3
from pathlib import Path

from rerail.playback.player import Player
from rerail.tape.reader import Tape
from rerail.tape.records import WsOpened
from rerail.testing.tapes import Recording
from rerail.wire.websocket import Close, Decoder, Encoder, Message
from tests.playback.agents_end import ROUTE, Wire, get, stage_of

UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAA\r\n"


def damage(path: Path, sql: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


def played(path: Path, *asked: bytes) -> tuple[Player, Wire]:
    """What an agent that sends these bytes is told, and by whom."""

    async def play() -> tuple[Player, Wire]:
        with Tape.open(path) as tape:
            stage, wire = stage_of(tape), Wire()
            session = stage.session(ROUTE, wire)
            for data in asked:
                session.received(data)
                await asyncio.sleep(0)
            return stage.player, wire

    return asyncio.run(play())


def test_a_small_reply_that_was_altered_is_refused(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    recording.request(1, target="/a")
    recording.reply(1, [b"what was said"], headers="Content-Length: 13\r\n")
    recording.end()
    damage(recording.path, "UPDATE blob SET digest = digest, data = x'00'")
    player, wire = played(recording.path, get("/a"))
    assert wire.said.startswith(b"HTTP/1.1 400 ") and b"cannot be read" in wire.said
    assert wire.end == "closed"
    assert player.ledger.numbers("refused") == [1]
    assert not player.ledger.matched
    (note,) = player.ledger.notes
    assert note.startswith("recorded reply cannot be read (r1): ")


def test_a_stream_that_was_altered_breaks_off(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    recording.request(1, target="/a")
    chunked = "Transfer-Encoding: chunked\r\n"
    recording.reply(1, [b"one", b"two"], headers=chunked, framing="chunked")
    recording.end()
    damage(recording.path, "DELETE FROM blob")
    player, wire = played(recording.path, get("/a"))
    assert wire.said == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert wire.end == "reset"
    assert player.ledger.numbers("refused") == [1]


def test_a_request_whose_recorded_body_is_gone_still_matches_by_its_digest(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    recording.request(1, b"the question", method="POST", target="/a")
    recording.reply(1, [], headers="Content-Length: 0\r\n")
    recording.end()
    damage(recording.path, "DELETE FROM blob")
    same = get("/a", "Content-Length: 12\r\n").replace(b"GET", b"POST") + b"the question"
    player, _ = played(recording.path, same)
    assert player.ledger.numbers("exact") == [1]
    player, wire = played(recording.path, same.replace(b"question", b"questiom"))
    assert player.ledger.numbers("refused") == [1]
    assert wire.said.startswith(b"HTTP/1.1 400 ")


def conversation(path: Path) -> Path:
    recording = Recording.begin(path)
    recording.request(1, target="/ws", headers=UPGRADE)
    recording.reply_head(1, status="101 Switching Protocols", headers=UPGRADE)
    recording.event(WsOpened, exchange_id=1)
    recording.message(1, "origin", b"welcome")
    recording.message(1, "agent", b"a question")
    recording.message(1, "origin", b"an answer")
    recording.end()
    return path


def frames(said: bytes) -> list[Message | Close]:
    found = Decoder("").feed("origin", said.partition(b"\r\n\r\n")[2], at=0)
    return [event for event in found if isinstance(event, Message | Close)]


def test_a_websocket_message_that_is_gone_ends_the_conversation(tmp_path: Path) -> None:
    path = conversation(tmp_path / "run.tape")
    damage(path, "DELETE FROM blob WHERE id = 1")
    player, wire = played(path, get("/ws", UPGRADE))
    (close,) = frames(wire.said)
    assert isinstance(close, Close) and close.code == 1011
    assert player.ledger.numbers("refused") == [1]


def test_a_question_whose_recorded_words_are_gone_is_not_answered(tmp_path: Path) -> None:
    path = conversation(tmp_path / "run.tape")
    damage(path, "DELETE FROM blob WHERE id = 2")
    question = Encoder("agent").message("text", b"a question")[0]
    player, wire = played(path, get("/ws", UPGRADE), question)
    welcome, close = frames(wire.said)
    assert isinstance(welcome, Message) and welcome.payload == b"welcome"
    assert isinstance(close, Close) and close.code == 1011
    assert player.ledger.numbers("refused") == [1]


def test_an_agent_that_reads_slowly_is_told_no_more_than_it_reads(tmp_path: Path) -> None:
    """All that an origin said in one go may be too much to hold."""
    recording = Recording.begin(tmp_path / "run.tape")
    recording.request(1, target="/ws", headers=UPGRADE)
    recording.reply_head(1, status="101 Switching Protocols", headers=UPGRADE)
    recording.event(WsOpened, exchange_id=1)
    for number in range(10):
        recording.message(1, "origin", b"%d" % number)
    recording.end()

    async def play() -> list[int]:
        with Tape.open(recording.path) as tape:
            wire = Wire()
            session = stage_of(tape).session(ROUTE, wire)
            told = []

            def write(data: bytes) -> None:
                wire.said += data
                session.writable(False)

            wire.write = write  # type: ignore[method-assign]
            session.received(get("/ws", UPGRADE))
            for _ in range(4):
                told.append(len(frames(wire.said)))
                session.writable(True)
            return told

    assert asyncio.run(play()) == [0, 1, 2, 3]
