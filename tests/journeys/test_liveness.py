"""A streamed reply reaches the agent as it comes: before the origin says its next word."""

import statistics
import threading
import time
from collections.abc import Callable

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import chunk, gated, head, serve
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "live.example.com"
PIECES = [f"data: {number}".encode() for number in range(6)]
PAUSE_SECONDS = 0.1
COUNT = 12
Start = Callable[..., Origin]


def told_the_time(connection: Connection, request: Request) -> None:
    """Chunks that say when they were sent, a tenth of a second apart."""
    request.read()
    connection.send(head(200, [("Transfer-Encoding", "chunked")]))
    for _ in range(COUNT):
        connection.pause(PAUSE_SECONDS)
        connection.send(chunk(str(time.time_ns()).encode()))
    connection.send(b"0\r\n\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_each_chunk_arrives_before_the_next_is_let_out(
    rail: Rail, start_origin: Start, authority: CertificateAuthority, scheme: str
) -> None:
    gates = [threading.Event() for _ in PIECES]
    tls = authority.leaf(HOST) if scheme == "https" else None
    rail.resolve(HOST, start_origin(serve(gated(PIECES, gates)), tls=tls))
    running = rail.start_recording(*rail.python("stream_reader.py", f"{scheme}://{HOST}/"))
    for piece, gate in zip(PIECES, gates, strict=True):
        gate.set()
        assert running.line().endswith(piece)
    assert running.end().status == 0


def test_how_much_later_than_on_a_direct_connection(
    rail: Rail, start_origin: Start, authority: CertificateAuthority
) -> None:
    """Measured and printed, not judged: `make bench` does that on a quiet machine."""
    origin = start_origin(serve(told_the_time), tls=authority.leaf(HOST, "127.0.0.1"))
    rail.resolve(HOST, origin)
    direct = rail.run(*rail.python("stream_reader.py", f"https://127.0.0.1:{origin.port}/"))
    recorded = rail.record(*rail.python("stream_reader.py", f"https://{HOST}/"))
    medians = [statistics.median(delays(ran.text)) for ran in (direct, recorded)]
    print(
        f"chunks {PAUSE_SECONDS * 1e3:.0f} ms apart arrive {medians[0]:.2f} ms after they were"
        f" sent on a direct connection, {medians[1]:.2f} ms while recording (median of {COUNT})"
    )


def delays(text: str) -> list[float]:
    """Milliseconds between the sending and the arrival of each piece."""
    lines = [line.split() for line in text.splitlines()]
    assert len(lines) == COUNT
    return [(int(came) - int(sent)) / 1e6 for came, sent in lines]


def test_a_replay_keeps_the_recorded_pauses_where_it_is_asked_to(
    rail: Rail, start_origin: Start, authority: CertificateAuthority
) -> None:
    rail.resolve(HOST, start_origin(serve(told_the_time), tls=authority.leaf(HOST)))
    recorded = rail.record(*rail.python("stream_reader.py", f"https://{HOST}/"))
    rail.stop_origins()
    replayed = rail.replay(recorded.tape, options=["--pace=recorded"])
    assert replayed.green, replayed.said
    (before, pieces), (now, again) = when_and_what(recorded.text), when_and_what(replayed.text)
    assert again == pieces
    # Half of it: whoever reads may be late for the first piece. As fast as can be is a hundredth.
    assert now[-1] - now[0] > 0.5 * (before[-1] - before[0])


def when_and_what(text: str) -> tuple[list[int], list[str]]:
    lines = [line.split() for line in text.splitlines()]
    return [int(came) for came, _ in lines], [piece for _, piece in lines]
