"""Messages by which a WebSocket is kept open."""

import pytest

from rerail.compare.keepalive import is_keepalive


@pytest.mark.parametrize(
    "payload",
    [
        b"ping", b" PONG\n", b"heartbeat", b'{"type":"ping"}', b'{"event": "heartbeat", "n": 3}',
        b'{"op":"keepalive"}', b'{"id":1,"method":"ping"}', b'{"type":"keep_alive"}',
    ],
)  # fmt: skip
def test_it_is_one(payload: bytes) -> None:
    assert is_keepalive(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"ping me", b"\xff\xfe", b"[1]", b"3", b'{"type":"say","event":"ping"}', b"[" * 100,
        b'{"type":["ping"]}', b'{"text":"ping"}', b'{"type":"ping","say":"%b"}' % (b"x" * 128),
    ],
)  # fmt: skip
def test_it_is_none(payload: bytes) -> None:
    assert not is_keepalive(payload)
