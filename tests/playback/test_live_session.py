"""The agent's part in a live conversation with an origin, as a dialogue of bytes."""

from typing import Any

import pytest

from rerail.playback.conversation import Say
from rerail.playback.live_session import LiveSession
from rerail.wire.websocket import Close, Control, Decoder, Encoder, Message

UPGRADE = (
    b"GET /v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: k\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


class Both:
    """A session, what it has sent, and what it has told."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.told: list[Say] = []
        self.session = LiveSession(self.told.append)
        self.origin = Encoder("origin")

    def begin(self) -> None:
        self.session.begin(UPGRADE, self.sent.append)

    def heard_by_origin(self) -> list[Any]:
        return Decoder().feed("agent", b"".join(self.sent[1:]), at=0)


@pytest.fixture
def both() -> Both:
    return Both()


def test_the_upgrade_goes_out_again_without_extensions(both: Both) -> None:
    both.begin()
    assert both.sent == [UPGRADE.replace(b"Sec-WebSocket-Extensions: permessage-deflate\r\n", b"")]


def test_what_is_said_waits_until_the_origin_listens(both: Both) -> None:
    both.session.send("text", b"one")
    both.begin()
    assert len(both.sent) == 1
    both.session.write(SWITCHING[:20])
    both.session.write(SWITCHING[20:] + both.origin.message("text", b"hello")[0])
    both.session.send("text", b"two")
    assert [event.payload for event in both.heard_by_origin()] == [b"one", b"two"]
    assert both.told == [Say("text", b"hello")]


def test_pings_of_the_origin_are_answered_here(both: Both) -> None:
    both.begin()
    both.session.write(SWITCHING + both.origin.ping(b"p"))
    both.session.send("ping", b"q")
    both.session.send("pong", b"r")
    events = both.heard_by_origin()
    assert all(isinstance(event, Control) for event in events)
    assert [(event.opcode, event.payload) for event in events] == [
        ("pong", b"p"), ("ping", b"q"), ("pong", b"r")
    ]  # fmt: skip
    assert both.told == []


def test_both_sides_may_close(both: Both) -> None:
    both.begin()
    both.session.write(SWITCHING)
    both.session.send("close", b"", code=1000)
    assert isinstance(both.heard_by_origin()[0], Close)
    both.session.write(both.origin.close(1001, "gone"))
    assert both.told == [Say("close", code=1001, reason="gone")]
    both.session.close()
    both.session.send("text", b"late")
    assert len(both.told) == 1
    assert not any(isinstance(event, Message) for event in both.heard_by_origin())


@pytest.mark.parametrize("how", ["close", "cut", "reset", "write_end"])
def test_an_origin_that_goes_away_is_told(both: Both, how: str) -> None:
    both.begin()
    both.session.write(SWITCHING)
    getattr(both.session, how)()
    assert both.told == [Say("drop")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 401 No\r\n\r\n", "status 401"),
        (b"x" * 70_000, "has no end"),
    ],
)
def test_an_origin_that_refuses_says_why(both: Both, answer: bytes, why: str) -> None:
    both.begin()
    both.session.write(answer)
    (told,) = both.told
    assert (told.kind, told.code) == ("close", 1011)
    assert why in told.reason
    both.session.send("text", b"late")
    assert both.heard_by_origin() == []


def test_an_origin_that_cannot_be_reached_or_leaves_at_once(both: Both) -> None:
    both.session.fail("no such host")
    both.session.close()
    (told,) = both.told
    assert "no such host" in told.reason
