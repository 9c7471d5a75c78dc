import asyncio
from collections.abc import Callable

import pytest
import websockets
from websockets.asyncio.client import connect
from websockets.frames import Opcode

from rerail.testing.origin import Origin
from rerail.testing.replies import serve
from rerail.testing.websocket import websocket_echo, websocket_refusal

Start = Callable[..., Origin]


def url(origin: Origin) -> str:
    return origin.url.replace("http", "ws", 1) + "/echo"


@pytest.mark.parametrize("compress", [True, False])
def test_text_and_fragmented_binary_come_back(start_origin: Start, compress: bool) -> None:
    origin = start_origin(serve(websocket_echo(compress=compress)))

    async def talk() -> None:
        async with connect(url(origin), proxy=None) as client:
            assert bool(client.protocol.extensions) is compress
            for message in ("one", "two", "drei ö"):
                await client.send(message)
                assert await client.recv() == message
            await client.send([b"ab", b"cd", b"ef"])
            assert await client.recv() == b"abcdef"
            await (await client.ping(b"there?"))

    asyncio.run(talk())


def test_fragments_stay_fragments(start_origin: Start) -> None:
    origin = start_origin(serve(websocket_echo()))

    async def talk() -> list[bytes]:
        async with connect(url(origin), proxy=None) as client:
            await client.send([b"ab", b"cd"])
            return [part async for part in client.recv_streaming(decode=False)]

    assert b"".join(parts := asyncio.run(talk())) == b"abcd"
    assert len(parts) >= 2


def test_the_origin_can_speak_first_ping_and_close_with_a_code(start_origin: Start) -> None:
    script = websocket_echo(
        greeting=["hello", b"\x00"], ping=b"p", close_after=1, close_code=4001, close_reason="done"
    )
    origin = start_origin(serve(script))

    async def talk() -> tuple[int, str]:
        async with connect(url(origin), proxy=None) as client:
            assert await client.recv() == "hello"
            assert await client.recv() == b"\x00"
            await client.send("one")
            assert await client.recv() == "one"
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await client.recv()
            assert closed.value.rcvd is not None
            return closed.value.rcvd.code, closed.value.rcvd.reason

    assert asyncio.run(talk()) == (4001, "done")
    assert origin.received[0].count(bytes([0x80 | Opcode.PONG])) >= 1


def test_a_subprotocol_that_was_offered_is_taken(start_origin: Start) -> None:
    origin = start_origin(serve(websocket_echo()))

    async def talk() -> str | None:
        protocols = [websockets.Subprotocol("realtime")]
        async with connect(url(origin), subprotocols=protocols, proxy=None) as client:
            return client.subprotocol

    assert asyncio.run(talk()) == "realtime"


def test_an_upgrade_can_be_refused(start_origin: Start) -> None:
    origin = start_origin(serve(websocket_refusal(403)))

    async def talk() -> None:
        async with connect(url(origin), proxy=None):
            pass

    with pytest.raises(websockets.InvalidStatus, match="403"):
        asyncio.run(talk())


def test_a_plain_request_is_told_to_upgrade(start_origin: Start) -> None:
    import urllib.error
    import urllib.request

    origin = start_origin(serve(websocket_echo()))
    with pytest.raises(urllib.error.HTTPError, match="426") as refused:
        urllib.request.urlopen(origin.url, timeout=5)
    refused.value.close()


def test_a_broken_frame_ends_the_conversation_with_a_protocol_error(start_origin: Start) -> None:
    origin = start_origin(serve(websocket_echo()))

    async def talk() -> int:
        async with connect(url(origin), proxy=None) as client:
            client.transport.write(b"\x83\x80\x00\x00\x00\x00")
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await client.recv()
            assert closed.value.rcvd is not None
            return closed.value.rcvd.code

    assert asyncio.run(talk()) == 1002
