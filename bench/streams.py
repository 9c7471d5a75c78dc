"""Streams and large bodies: how late an event comes, how fast a GiB passes, in how much memory."""

from typing import Final

from bench.arena import SCHEMES, Arena, Contest, Scheme, progress, room_for
from bench.contenders import client
from bench.figures import Goal, Rounds, Row, row

_DELAY_GOAL: Final = Goal("value", "at most", 5)
_MEMORY_GOAL: Final = Goal("value", "at most", 150)
LARGE_BYTES: Final = 1 << 30
_ROOM: Final = 4
_DIRECTIONS: Final = ("download", "upload")
_EVENTS: Final = 10
_EVERY_MS: Final = 100


def measure_events(arena: Arena) -> list[Row]:
    """Server-sent events 100 ms apart, while recording."""
    contest, rounds = Contest(arena), Rounds(arena.plan.stream_rounds)
    _say_what_the_peer_does(arena)
    for number in range(arena.plan.stream_rounds):
        progress(f"events, round {number + 1} of {arena.plan.stream_rounds}")
        for scheme, contender in arena.shuffled(SCHEMES):
            spacing = ("--count", _EVENTS, "--every-ms", _EVERY_MS)
            command = client("stream", arena.url(scheme), *spacing)
            findings = contest.run(contender, command, "streaming", f"events-{scheme}")
            if findings is not None:
                rounds.add((scheme, contender.name), findings)
    return [
        _added(rounds, scheme, metric, finding)
        for scheme in SCHEMES
        for metric, finding in (
            ("delay added to an event", "event_delay_ms"),
            ("delay added to the first event", "first_event_ms"),
        )
    ]


def _added(rounds: Rounds, scheme: Scheme, metric: str, finding: str) -> Row:
    direct = (scheme, "direct")
    return row(
        f"{metric}, {scheme.upper()}",
        "ms",
        rerail=rounds.added((scheme, "rerail"), direct, finding),
        peer=rounds.added((scheme, "peer"), direct, finding),
        direct=rounds.values(direct, finding),
        goal=_DELAY_GOAL,
    )


def measure_large(arena: Arena) -> list[Row]:
    """A download and an upload of 1 GiB over TLS, while recording."""
    if not room_for(arena.place.folder, _ROOM * LARGE_BYTES):
        arena.note(f"large bodies are skipped: they need {_ROOM} GiB of free disk")
        return []
    contest, rounds = Contest(arena), Rounds(arena.plan.large_rounds)
    _say_what_the_peer_does(arena)
    for number in range(arena.plan.large_rounds):
        progress(f"large bodies, round {number + 1} of {arena.plan.large_rounds}")
        for direction, contender in arena.shuffled(_DIRECTIONS):
            command = client(direction, arena.url("https"), "--bytes", LARGE_BYTES)
            findings = contest.run(contender, command, "streaming", direction)
            contender.tape(direction).unlink(missing_ok=True)
            if findings is not None:
                rounds.add((direction, contender.name), findings)
    return [line for direction in _DIRECTIONS for line in _large(rounds, direction)]


def _large(rounds: Rounds, direction: str) -> list[Row]:
    speed, what = f"{direction}_mb_per_second", f"1 GiB {direction}, HTTPS"
    rerail, peer, direct = ((direction, name) for name in ("rerail", "peer", "direct"))
    return [
        row(
            what,
            "MB/s",
            rerail=rounds.values(rerail, speed),
            peer=rounds.values(peer, speed),
            direct=rounds.values(direct, speed),
        ),
        row(
            f"recorder's peak memory, {what}",
            "MB",
            rerail=rounds.values(rerail, "recorder_peak_mb"),
            peer=rounds.values(peer, "recorder_peak_mb"),
            goal=_MEMORY_GOAL,
        ),
    ]


def _say_what_the_peer_does(arena: Arena) -> None:
    arena.note(
        "the peer keeps no body of a streamed message: its figures for events and large bodies "
        "are those of passing on, not of recording"
    )
