"""Every framing, byte for byte: got directly, through a recording, and in a replay."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import Reply, broken, interim, routes, unexpecting, until_close, wire
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

SECURE, PLAIN = "secure.example.com", "plain.example.com"
OK = b"HTTP/1.1 200 OK\r\n"
COMPRESSED = gzip.compress(b"the same again and again " * 40, mtime=0)


def in_writes(*pieces: bytes, pause: float = 0.005) -> Reply:
    """Each piece in a write of its own."""

    def reply(connection: Connection, request: Request) -> None:
        request.read()
        for piece in pieces:
            connection.send(piece)
            connection.pause(pause)

    return reply


REPLIES: dict[str, Reply] = {
    "length": wire(OK + b"Content-Length: 5\r\n\r\nhello"),
    "no-bytes": wire(OK + b"Content-Length: 0\r\n\r\n"),
    "odd-head": wire(
        b"HTTP/1.1 299 Fine, thanks\r\nx-B: 2\r\nX-a:1\r\nx-b:   2  \r\nSERVER: caf\xe9\r\n"
        b"content-LENGTH: 2\r\nX-Empty:\r\n\r\nok"
    ),
    "no-reason": wire(b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"),
    "slow-length": in_writes(OK + b"Content-Le", b"ngth: 6\r\n\r\nab", b"cd", b"ef"),
    "chunked": in_writes(
        OK + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n", b"1\r\n!\r\n", b"0\r\n\r\n"
    ),
    "chunked-oddly": in_writes(
        OK + b"Transfer-Encoding: chunked\r\nTrailer: X-Sum, x-more\r\n\r\n",
        b'05;name="a;b"\r\nhello\r\nA\r\n0123456789\r\n',
        b"3  \r\nab",
        b"c\r\n000\r\nX-Sum: 1\r\nx-more:2\r\n\r\n",
    ),
    "chunked-empty": wire(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "chunked-trailers": wire(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Only: this\r\n\r\n"),
    "until-close": until_close([b"one ", b"two ", b"three"]),
    "until-close-1.0": until_close([b"old", b"er"], version="HTTP/1.0"),
    "204": wire(b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n"),
    "304": wire(b'HTTP/1.1 304 Not Modified\r\nETag: "v"\r\nContent-Length: 999\r\n\r\n'),
    "head": wire(OK + b"Content-Length: 5000\r\nContent-Type: text/plain\r\n\r\n"),
    "head-chunked": wire(OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    "103": interim(103, wire(OK + b"Content-Length: 2\r\n\r\nok"), more=[("Link", "</a>")]),
    "102-103": interim(102, interim(103, wire(OK + b"Content-Length: 2\r\n\r\nok"))),
    "gzip": wire(
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(COMPRESSED) + COMPRESSED
    ),
    "gzip-chunked": in_writes(
        OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"a\r\n" + COMPRESSED[:10] + b"\r\n",
        b"%x\r\n" % (len(COMPRESSED) - 10) + COMPRESSED[10:] + b"\r\n0\r\n\r\n",
    ),
    "large": wire(OK + b"Content-Length: 400000\r\n\r\n" + b"0123456789" * 40_000),
    "cut": broken(OK + b"Content-Length: 100\r\n\r\nonly this", "cut", pause=0.05),
    "closed-early": broken(OK + b"Content-Length: 100\r\n\r\nonly this", "close", pause=0.05),
    "cut-chunks": broken(
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "close", pause=0.05
    ),
    "cut-in-a-chunk": broken(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "cut", pause=0.05),
    "reset": broken(OK + b"Content-Length: 100\r\n\r\nonly this", "reset", pause=0.05),
    "reset-in-a-chunk": broken(
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "reset", pause=0.05
    ),
    "no-reply": broken(b"", "close"),
    "no-reply-reset": broken(b"", "reset"),
    "half-a-head": broken(b"HTTP/1.1 200 OK\r\nContent-", "close", pause=0.05),
    "refused-body": unexpecting(413),
}

REQUESTS: dict[str, bytes] = {
    "head": b"HEAD",
    "head-chunked": b"HEAD",
}


def request(name: str, host: str) -> bytes:
    """The bytes to ask for a reply with."""
    line = b"%b /%b HTTP/1.1\r\n" % (REQUESTS.get(name, b"GET"), name.encode())
    head = line + b"Host: %b\r\nX-Odd:  case\r\n" % host.encode()
    if name == "refused-body":
        return head + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    return head + b"Connection: close\r\n\r\n"


Results = dict[str, list[str]]


def test_what_a_client_gets_is_the_same_directly_recorded_and_replayed(
    rail: Rail,
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
    tmp_path: Path,
) -> None:
    table = {f"/{name}": reply for name, reply in REPLIES.items()}
    origins = {SECURE: start_origin(routes(table), tls=authority.leaf(SECURE))}
    origins[PLAIN] = start_origin(routes(table))
    command = rail.python("raw_client.py", str(write_cases(tmp_path / "cases.json")))
    addresses = json.dumps({name: origin.address for name, origin in origins.items()})
    direct = rail.run(*command, environment={"ORIGINS": addresses})
    for name, origin in origins.items():
        rail.resolve(name, origin)
    recorded = rail.record(*command)
    rail.stop_origins()
    replayed = [rail.replay(recorded.tape) for _ in range(2)]
    got = json.loads(direct.text)
    assert len(got) == 2 * len(REPLIES)
    different = differing(got, json.loads(recorded.text))
    assert not different, different
    for name in (SECURE, PLAIN):
        # What came of a head that was never complete is on the tape, and is not said again.
        got[f"half-a-head {name}"][0] = ""
    for ran in replayed:
        different = differing(got, json.loads(ran.text))
        assert not different, different
    assert all(ran.green for ran in replayed), replayed[0].said
    assert rail.reached == 0


def write_cases(path: Path) -> Path:
    """Every reply asked for over TLS and plain, each over a connection of its own."""
    cases = [
        [f"{name} {host}", host, port, host == SECURE, request(name, host).hex()]
        for host, port in ((SECURE, 443), (PLAIN, 80))
        for name in REPLIES
    ]
    path.write_text(json.dumps(cases))
    return path


def differing(one: Results, other: Results) -> str:
    """A line for each reply that is not the same: what came, and how it ended."""
    names = [name for name in one if one[name] != other[name]]
    return "\n".join(f"{name}: {one[name]} but {other[name]}"[:600] for name in names)


def test_a_client_that_begins_with_http2_is_refused_once(
    rail: Rail, start_origin: Callable[..., Origin], tmp_path: Path
) -> None:
    """As gRPC without TLS does."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([["h2", PLAIN, 80, False, preface.hex()]]))
    rail.resolve(PLAIN, start_origin([wire(b"\x00\x00\x00\x04\x01\x00\x00\x00\x00")]))
    recorded = rail.record(*rail.python("raw_client.py", str(cases)))
    rail.stop_origins()
    report = rail.replay(recorded.tape).report
    assert report["counts"]["refused"] == 1
    assert report["divergence"] is None
    why = "the tunnel carries http2-preface, which is not read"
    assert f"1 a connection to {PLAIN}:80 was refused: {why}" in report["notes"]
