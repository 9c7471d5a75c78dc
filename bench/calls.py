"""Model calls through a recorder and through a replay: latency, throughput, CPU of the recorder.

In each round everything is recorded, in random order, and then replayed, in random order, from the
recordings of that round. A replay asks exactly what was recorded, and the origin's own count shows
that it asked the origin nothing.
"""

from typing import Final

from bench.arena import SCHEMES, Arena, Contest, Scheme, progress
from bench.client import Findings
from bench.contenders import Mode, client
from bench.figures import Goal, Rounds, Row, row

_LATENCY_GOAL: Final = Goal("ratio", "at most", 0.2)
_THROUGHPUT_GOAL: Final = Goal("ratio", "at least", 7)
_MODES: Final[tuple[Mode, ...]] = ("recording", "replaying")


def measure(arena: Arena) -> list[Row]:
    """All rows about model calls."""
    contest, rounds = Contest(arena), Rounds(arena.plan.call_rounds)
    for number in range(arena.plan.call_rounds):
        progress(f"model calls, round {number + 1} of {arena.plan.call_rounds}")
        _round(arena, contest, rounds)
    return [line for mode in _MODES for scheme in SCHEMES for line in _rows(rounds, mode, scheme)]


def _round(arena: Arena, contest: Contest, rounds: Rounds) -> None:
    recorded: dict[tuple[Scheme, str], Findings] = {}
    for mode in _MODES:
        for scheme, contender in arena.shuffled(SCHEMES):
            key = (scheme, contender.name)
            if mode == "recording" or contender.name == "direct":
                command = _timed(arena, scheme)
            elif key in recorded:
                command = _same(arena, scheme, recorded[key])
            else:
                continue
            findings = contest.run(contender, command, mode, f"calls-{scheme}")
            if findings is not None:
                recorded[key] = findings
                rounds.add((mode, *key), findings)


def _timed(arena: Arena, scheme: Scheme) -> list[str]:
    latency, load = arena.plan.latency_seconds, arena.plan.load_seconds
    phases = ("--latency-seconds", latency, "--load-seconds", load)
    return client("calls", arena.url(scheme), *phases)


def _same(arena: Arena, scheme: Scheme, recorded: Findings) -> list[str]:
    """The command that asks what the recorded one asked."""
    latency, load = recorded["latency_requests"], recorded["load_requests"]
    assert latency is not None and load is not None
    phases = ("--latency-requests", latency, "--load-requests", load)
    return client("calls", arena.url(scheme), *phases)


def _rows(rounds: Rounds, mode: Mode, scheme: Scheme) -> list[Row]:
    what, direct = f"{scheme.upper()}, {mode}", (mode, scheme, "direct")
    rerail, peer = (mode, scheme, "rerail"), (mode, scheme, "peer")
    latency = row(
        f"added latency, {what}",
        "ms",
        rerail=rounds.added(rerail, direct, "latency_ms"),
        peer=rounds.added(peer, direct, "latency_ms"),
        direct=rounds.values(direct, "latency_ms"),
        goal=_LATENCY_GOAL,
    )
    throughput = row(
        f"requests at 50 connections, {what}",
        "/s",
        rerail=rounds.values(rerail, "requests_per_second"),
        peer=rounds.values(peer, "requests_per_second"),
        direct=rounds.values(direct, "requests_per_second"),
        goal=_THROUGHPUT_GOAL,
    )
    cost = row(
        f"recorder CPU a request, {what}",
        "µs",
        rerail=rounds.values(rerail, "cpu_us_per_request"),
        peer=rounds.values(peer, "cpu_us_per_request"),
    )
    return [latency, throughput, cost]
