"""A change was accepted, and the target's own answer shows another value than was asked for.

Context: many services answer with the state before the change.
"""

from collections.abc import Iterator
from typing import Any

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import plain
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.writes:
        differs = None if is_error(call) else next(_differing(call), None)
        if differs:
            key, asked, holds = differs
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} was accepted, and its answer has {key} {holds}, not {asked}",
                [
                    place(reading.story, reading.said[call.asked], call.same),
                    place(reading.story, said, call.told),
                ],
                said.order,
                contradicts=f"asked for: {key} {asked}",
            )


def _differing(call: Call) -> Iterator[tuple[str, Any, Any]]:
    arguments, answer = call.call.arguments, call.document
    if not isinstance(arguments, dict) or not isinstance(answer, dict):
        return
    for key, asked in arguments.items():
        holds = answer.get(key)
        if isinstance(asked, str | int | float) and isinstance(holds, str | int | float):
            if plain(str(asked)) != plain(str(holds)):
                yield key, asked, holds
        elif isinstance(asked, list) and isinstance(holds, list) and len(holds) < len(asked):
            yield key, f"{len(asked)} of them", f"{len(holds)} of them"


DETECTOR = OverStory(
    "accepted-otherwise", "target", "context", "what a write asked for, and its answer", _find
)
DETECTORS = [DETECTOR]
