"""The Python probe tells of connections past the recorder, where the kernel does not."""

import socket
from collections.abc import Iterator

import pytest

from tests.probe.test_python import python, with_probe

CONNECTS = """
    import asyncio, socket, sys
    port = int(sys.argv[1])
    for _ in range(3):
        socket.create_connection(("127.0.0.1", port), 10).close()
    async def main():
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    asyncio.run(main())
    socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", port))
    try:
        socket.create_connection(("127.0.0.1", "port"))
    except OSError:
        print("as ever")
"""


@pytest.fixture
def listeners() -> Iterator[tuple[socket.socket, int]]:
    """A recorder, and the port of a server beside it."""
    here = ("127.0.0.1", 0)
    with socket.create_server(here) as recorder, socket.create_server(here) as beside:
        yield recorder, beside.getsockname()[1]


def environment(recorder: socket.socket, **more: str) -> dict[str, str]:
    port = recorder.getsockname()[1]
    return {**with_probe(), "RERAIL_PROXY": f"http://p7:word@127.0.0.1:{port}", **more}


def told(recorder: socket.socket) -> list[bytes]:
    """What has come to the recorder so far."""
    recorder.setblocking(False)
    heads = []
    while True:
        try:
            peer, _ = recorder.accept()
        except BlockingIOError:
            return heads
        with peer:
            peer.settimeout(20)
            heads.append(peer.recv(4096))


def test_each_address_is_told_once(listeners: tuple[socket.socket, int]) -> None:
    recorder, port = listeners
    env = environment(recorder, RERAIL_TELLS="1")
    assert python(CONNECTS, str(port), env=env) == "as ever\n"
    (head,) = told(recorder)
    assert head.startswith(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic cDc6d29yZA==\r\n" in head
    assert b"\r\nRerail-Passed: " in head and b" python" in head


def test_nothing_is_told_where_the_kernel_tells(listeners: tuple[socket.socket, int]) -> None:
    recorder, port = listeners
    assert python(CONNECTS, str(port), env=environment(recorder)) == "as ever\n"
    assert told(recorder) == []


def test_a_recorder_that_is_gone_stops_nothing(listeners: tuple[socket.socket, int]) -> None:
    recorder, port = listeners
    env = environment(recorder, RERAIL_TELLS="1")
    recorder.close()
    assert python(CONNECTS, str(port), env=env) == "as ever\n"


def test_a_connection_to_the_recorder_is_none(listeners: tuple[socket.socket, int]) -> None:
    recorder, _ = listeners
    port = str(recorder.getsockname()[1])
    program = (
        "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).close()"
    )
    assert python(program, port, env=environment(recorder, RERAIL_TELLS="1")) == ""
    assert told(recorder) == [b""]
