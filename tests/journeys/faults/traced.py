"""What an investigation makes of a fault: where it first went wrong, and what is live."""

from contextlib import ExitStack
from dataclasses import dataclass

from rerail.cli.trace.check import second_place
from rerail.cli.trace.words import TapeWords
from rerail.clock import wall_ns
from rerail.trace.check import first_place
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.investigation import diagnosed, look
from rerail.trace.safety import Safety, safety
from rerail.trace.tape_source import TapeSource
from tests.journeys.faults.lab import Made

_YEAR = 365 * 24 * 3600 * 10**9

SAFETY = {
    "applied by policy": "applied",
    "applied by a person": "applied",
    "cases that do not waver": "applied",
    "the approval is used twice": "applied",
    "accepted, then silent": "partially applied",
    "silent, and nothing done": "unresolved",
    "the target takes half of it": "partially applied",
    "the target says yes and does nothing": "unresolved",
    "the target cannot be read afterwards": "unresolved",
    "silent, then reconciled": "partially applied",
    "the tape cannot grow": "unresolved",
    "the worker is killed while the agent works": "unresolved",
    "the worker is killed while the action is under way": "unresolved",
    "the worker is killed while it is checked": "unresolved",
}
"""The safety state after a fault, once every approval has expired; the others are contained."""


@dataclass(frozen=True)
class Traced:
    """The diagnosis, where the two ways lead, and the safety state."""

    diagnosis: Diagnosis
    first: str
    second: str | None
    safety: Safety


def traced(made: Made) -> Traced:
    """Investigate the tapes that a fault left."""
    with ExitStack() as stack:
        sources = []
        for name, path in zip("ABCD", made.tapes, strict=False):
            source = TapeSource(name, path, TapeWords())
            stack.callback(source.close)
            sources.append(source)
        looked = look(sources)
        diagnosis = diagnosed(sources, looked)
        return Traced(
            diagnosis,
            first_place(diagnosis),
            second_place(diagnosis, sources),
            safety(looked.found, now=wall_ns() + _YEAR),
        )
