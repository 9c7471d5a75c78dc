"""The load client: a command that runs directly, under `rerail record`, or behind a peer's proxy.

It prints one line of JSON, its findings, on standard output. Its proxy and its CA come from the
environment, as they do for any agent. BENCH_WATCH names the process whose cost is asked for.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from time import monotonic_ns
from typing import Final

from bench.connection import ChunkedReply, Connection, CountedReply, EventReply, Route, WholeReply
from bench.content import block, echo_of, request_body
from bench.processes import cpu_seconds, keep_to_last_processor

RESULT_MARK: Final = "bench-result "
CONNECTIONS: Final = 50
WARM_UP: Final = 30
SETTLE_SECONDS: Final = 0.3
_PIECE_BYTES: Final = 1 << 16
_FIELDS: Final = (
    b"Accept: application/json\r\nContent-Type: application/json\r\n"
    b"Authorization: Bearer bench-0123456789abcdef\r\nUser-Agent: bench/1\r\n"
)

Findings = dict[str, float | int | None]


class WrongReply(Exception):
    """A reply that does not belong to its request."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How long a phase lasts: a time, or the number of requests that a recording got through."""

    seconds: float
    requests: int | None = None

    def going(self) -> Callable[[int], bool]:
        """A test for the loop: may the `done`-th request start?"""
        wanted, deadline = self.requests, monotonic_ns() + round(self.seconds * 1e9)
        if wanted is not None:
            return lambda done: done < wanted
        return lambda done: monotonic_ns() < deadline


class Load:
    """Model calls with keep-alive, each with a number of its own."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._next = 0

    async def one(self, connection: Connection) -> int:
        """One model call; returns the nanoseconds that it took."""
        number = self._next
        self._next += 1
        body = request_body(number)
        fields = _FIELDS + b"Content-Length: %d\r\n\r\n" % len(body)
        request = self._route.head(b"POST", b"/v1/chat/completions", fields) + body
        reply, begun = WholeReply(), monotonic_ns()
        await connection.exchange(request, reply)
        took = monotonic_ns() - begun
        if not reply.content.startswith(b"HTTP/1.1 200 ") or echo_of(number) not in reply.content:
            raise WrongReply(f"request {number} was answered with {reply.content[:300]!r}")
        return took

    async def latency(self, amount: Amount) -> Findings:
        """One client, one request after the other."""
        connection = await Connection.open(self._route)
        for _ in range(WARM_UP):
            await self.one(connection)
        going, times = amount.going(), list[int]()
        while going(len(times)):
            times.append(await self.one(connection))
        connection.close()
        return {
            "latency_requests": len(times),
            "latency_ms": median(times) / 1e6,
            "latency_p99_ms": quantiles(times, n=100)[-1] / 1e6,
        }

    async def throughput(self, amount: Amount) -> Findings:
        """As many as can be done on 50 connections at once, and what each cost the recorder."""
        keep_to_last_processor()
        connections = [await Connection.open(self._route) for _ in range(CONNECTIONS)]
        for connection in connections:
            await self.one(connection)
        await asyncio.sleep(SETTLE_SECONDS)
        cpu, begun, going, started = cpu_of_watched(), monotonic_ns(), amount.going(), 0

        async def draw(connection: Connection) -> None:
            nonlocal started
            while going(started):
                started += 1
                await self.one(connection)

        await asyncio.gather(*map(draw, connections))
        seconds = (monotonic_ns() - begun) / 1e9
        # What a recorder puts off until later is its cost too.
        await asyncio.sleep(SETTLE_SECONDS)
        spent = cpu_of_watched() - cpu
        for connection in connections:
            connection.close()
        return {
            "load_requests": started,
            "requests_per_second": started / seconds,
            "cpu_us_per_request": spent / started * 1e6 if watched() else None,
        }


async def stream(route: Route, *, count: int, every_ms: int) -> Findings:
    """How late each event of a stream arrives, and how long the first one takes."""
    connection = await Connection.open(route)
    firsts, delays = list[int](), list[int]()
    # The first stream opens the connection to the origin: it is not measured.
    for events in (1, count):
        path = b"/events?count=%d&every_ms=%d" % (events, every_ms)
        reply, begun = EventReply(), monotonic_ns()
        request = route.head(b"GET", path, b"Accept: text/event-stream\r\n\r\n")
        await connection.exchange(request, reply)
        if len(reply.delays) != events:
            raise WrongReply(f"{len(reply.delays)} of {events} events arrived")
        firsts.append(reply.first_at - begun)
        delays = reply.delays
    connection.close()
    return {"first_event_ms": firsts[-1] / 1e6, "event_delay_ms": median(delays) / 1e6}


async def download(route: Route, size: int) -> Findings:
    """One large reply."""
    connection, reply = await Connection.open(route), CountedReply()
    begun = monotonic_ns()
    await connection.exchange(route.head(b"GET", b"/download?bytes=%d" % size, b"\r\n"), reply)
    seconds = (monotonic_ns() - begun) / 1e9
    connection.close()
    if reply.size != size:
        raise WrongReply(f"{reply.size} of {size} bytes arrived")
    return {"download_mb_per_second": size / seconds / 1e6}


async def upload(route: Route, size: int) -> Findings:
    """One large request, written as fast as it is taken."""
    content = memoryview(block(4 << 20))
    connection, reply = await Connection.open(route), WholeReply()
    begun = monotonic_ns()
    done = connection.expect(reply)
    fields = b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % size
    connection.send(route.head(b"PUT", b"/upload", fields))
    sent = 0
    while sent < size and not done.done():
        start = sent % len(content)
        piece = content[start : start + min(_PIECE_BYTES, size - sent)]
        connection.send(bytes(piece))
        sent += len(piece)
        await connection.drained()
    await done
    seconds = (monotonic_ns() - begun) / 1e9
    connection.close()
    if b'"received": %d}' % size not in reply.content:
        raise WrongReply(f"the origin answered {reply.content[:300]!r}")
    return {"upload_mb_per_second": size / seconds / 1e6}


async def agent(route: Route) -> Findings:
    """The made-up agent's conversation, turn by turn, with the heads that real clients send."""
    # Loaded here: the other phases are to be as light as a client can be.
    from rerail.testing.made_up_agent import turns

    connection, count = await Connection.open(route), 0
    for turn in turns():
        fields = turn.request_head.split(b"\r\n", 2)[2]
        head = route.head(b"POST", b"/v1/chat/completions", b"X-Turn: %d\r\n" % count + fields)
        await connection.exchange(head + turn.request_body, ChunkedReply())
        count += 1
    connection.close()
    return {"turns": count}


def watched() -> int:
    """The process whose cost is asked for, or 0."""
    return int(os.environ.get("BENCH_WATCH", "0"))


def cpu_of_watched() -> float:
    """CPU seconds that the watched process has used; 0 where none is watched."""
    return cpu_seconds(watched()) if watched() else 0.0


async def run(options: argparse.Namespace) -> Findings:
    """Do what the options ask for and return what was found."""
    route = Route.to(options.url)
    match options.phase:
        case "calls":
            load = Load(route)
            latency = Amount(options.latency_seconds, options.latency_requests)
            findings = await load.latency(latency)
            throughput = Amount(options.load_seconds, options.load_requests)
            return findings | await load.throughput(throughput)
        case "stream":
            return await stream(route, count=options.count, every_ms=options.every_ms)
        case "agent":
            return await agent(route)
        case "download":
            return await download(route, options.bytes)
        case _:
            return await upload(route, options.bytes)


def parser() -> argparse.ArgumentParser:
    """The client's own command line."""
    options = argparse.ArgumentParser(prog="python -m bench.client", description=__doc__)
    options.add_argument("phase", choices=("calls", "stream", "agent", "download", "upload"))
    options.add_argument("url")
    options.add_argument("--latency-seconds", type=float, default=1.0)
    options.add_argument("--latency-requests", type=int)
    options.add_argument("--load-seconds", type=float, default=2.0)
    options.add_argument("--load-requests", type=int)
    options.add_argument("--count", type=int, default=10)
    options.add_argument("--every-ms", type=int, default=100)
    options.add_argument("--bytes", type=int, default=1 << 30)
    return options


def main() -> int:
    """Run the client; status 1 where a reply was wrong or a connection was lost."""
    try:
        findings = asyncio.run(run(parser().parse_args()))
    except (OSError, WrongReply) as error:
        print(f"bench client: {error}", file=sys.stderr)
        return 1
    print(RESULT_MARK + json.dumps(findings), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
