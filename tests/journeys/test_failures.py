"""Origins that fail: the agent sees what it would have seen, the tape says what it was, and again.

Every way to fail has a host name of its own, and four clients ask each of them: directly, in one
recording, and in two replays of it with nobody left to answer.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rerail.tape.records import ConnectionFailed
from rerail.testing.ca import CertificateAuthority, Leaf
from rerail.testing.connection import Connection
from rerail.testing.origin import RESET, Origin, Script
from rerail.testing.replies import broken, serve, short_body, short_chunks
from tests.journeys.rail import Rail, Recorded

pytestmark = pytest.mark.journey

CLIENTS = 4
EVENTS = [b'data: {"choices": []}\n\n'] * 2
Start = Callable[..., Origin]


@dataclass(frozen=True)
class Failing:
    """A way to fail: what the origin does, and what the tape then says.

    `certificate` is its leaf, None for a plain server; `seen` is how a reply ended, or how far the
    connection came and what was shown instead.
    """

    scheme: str
    script: Script
    seen: object
    certificate: Callable[[CertificateAuthority, str], Leaf] | None = None


def good(authority: CertificateAuthority, name: str) -> Leaf:
    return authority.leaf(name)


def speak_http(connection: Connection) -> None:
    """What an origin does that has no TLS where TLS is expected."""
    connection.receive()
    connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def hang_up(connection: Connection) -> None:
    connection.receive()


ANY = serve(short_body())
WAYS = {
    "expired": Failing("https", ANY, ("tls", "expired"), CertificateAuthority.expired_leaf),
    "future": Failing("https", ANY, ("tls", "not_yet_valid"), CertificateAuthority.future_leaf),
    "other-name": Failing(
        "https", ANY, ("tls", "name"), lambda authority, _: authority.leaf("other.example.com")
    ),
    "self-signed": Failing("https", ANY, ("tls", "issuer"), CertificateAuthority.self_signed_leaf),
    "no-tls": Failing("https", speak_http, ("tls", "")),
    "hangs-up": Failing("https", hang_up, ("tls", "")),
    "resets": Failing("https", [0.05, RESET], ("tls", "")),
    "closes": Failing("https", serve(short_chunks(EVENTS, "close", pause=0.05)), "cut", good),
    "cuts": Failing("https", serve(short_chunks(EVENTS, "cut", pause=0.05)), "truncated", good),
    "breaks": Failing("https", serve(short_chunks(EVENTS, "reset", pause=0.05)), "reset", good),
    "plain-closes": Failing("http", serve(short_chunks(EVENTS, "close", pause=0.05)), "cut"),
    "plain-breaks": Failing("http", serve(short_chunks(EVENTS, "reset", pause=0.05)), "reset"),
    "says-nothing": Failing("https", serve(broken(b"", "close")), "cut", good),
    "says-nothing-and-breaks": Failing("https", serve(broken(b"", "reset")), "reset", good),
}

Failures = dict[str, dict[str, str]]


def failures(text: str) -> Failures:
    """How each client failed, by way.

    What happens before a reply begins is a ProxyError to requests wherever there is a proxy: it is
    one of its ConnectionErrors.
    """
    found: Failures = {}
    for line in text.splitlines():
        url, client, said = line.split(" ", 2)
        way = url.partition("://")[2].partition(".")[0]
        if (client, said) == ("requests:", "ProxyError"):
            said = "ConnectionError"
        found.setdefault(way, {})[client] = said
    return found


def host(way: str) -> str:
    return f"{way}.example.com"


def test_what_fails_does_so_in_the_same_way_directly_recorded_and_replayed(
    rail: Rail, start_origin: Start, authority: CertificateAuthority
) -> None:
    addresses = {}
    for way, failing in WAYS.items():
        leaf = failing.certificate and failing.certificate(authority, host(way))
        origin = start_origin(failing.script, tls=leaf)
        rail.resolve(host(way), origin, port=443 if failing.scheme == "https" else 80)
        addresses[host(way)] = origin.address
    urls = [f"{failing.scheme}://{host(way)}/" for way, failing in WAYS.items()]
    agent = rail.python("failing_agent.py", *urls)
    trust = rail.environment["SSL_CERT_FILE"]
    alone = {"ORIGINS": json.dumps(addresses), "REQUESTS_CA_BUNDLE": trust}
    direct = rail.run(*agent, environment=alone)
    recorded = rail.there_and_back(*agent)
    assert failures(recorded.text) == failures(direct.text)
    told = what_the_tape_says(recorded)
    assert told == {way: [failing.seen] * CLIENTS for way, failing in WAYS.items()}


def what_the_tape_says(recorded: Recorded) -> dict[str, list[object]]:
    """By way: how far each connection came and what was shown, or how each reply ended."""
    found: dict[str, list[object]] = {way: [] for way in WAYS}
    for event in recorded.events():
        if isinstance(event, ConnectionFailed):
            found[event.host.partition(".")[0]].append((event.phase, event.shown))
    for exchange in recorded.exchanges():
        assert exchange.request is not None
        end = exchange.reply_body or exchange.failed
        found[exchange.request.host.partition(".")[0]].append(end and end.ended)
    return found


def test_where_nobody_is_reached_there_is_a_502_and_the_reason(rail: Rail, free_port: int) -> None:
    gone = [f"--resolve={host('gone')}:{port}=127.0.0.1:{free_port}" for port in (80, 443)]
    urls = [f"https://{host('gone')}/", f"http://{host('gone')}/", "https://nobody.invalid/"]
    recorded = rail.record(*rail.python("failing_agent.py", *urls), options=gone)
    unreached = ["ProxyError", "ProxyError", "URLError", "APIConnectionError"]
    refused = ["502", "502", "HTTPError", "InternalServerError"]
    said = [line.rpartition(" ")[2] for line in recorded.text.splitlines()]
    assert said == [*unreached, *refused, *unreached]
    failed = [event for event in recorded.events() if isinstance(event, ConnectionFailed)]
    assert [event.phase for event in failed] == ["connect"] * 8 + ["resolve"] * 4
    assert {event.error for event in failed[:8]} == {"ConnectionRefusedError"}
    for _ in range(2):
        replayed = rail.replay(recorded.tape)
        assert replayed.output == recorded.output
        # Nothing was asked, so nothing was shown to be the same.
        (reason,) = replayed.report["verdict"]["reasons"]
        assert reason["code"] == "nothing_matched"
