"""A change of a thing was made, and then another of the same thing refused for what it now is."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_STATE: Final = re.compile(
    r"\b(already|no longer|status|state|non-\w+|(was|were|is|are|been) \w+ed|"
    r"\w+ed \w+ (cannot|can't|can not|may not|must not))\b",
    re.IGNORECASE,
)
_STATES: Final = ("status", "state")


def _find(reading: Reading) -> Iterator[Finding]:
    made: dict[str, Call] = {}
    for call in (call for call in reading.writes if call.own):
        earlier = made.get(call.own)
        if not is_error(call):
            made[call.own] = call
        elif earlier and _STATE.search(call.told[:300]) and not _left_it(reading, earlier):
            said = reading.said[earlier.asked]
            yield DETECTOR.finding(
                f"after {earlier.name}, {call.name} of the same thing was refused: "
                f"{call.told.strip()[:100]}",
                [
                    place(reading.story, said, earlier.same),
                    place(reading.story, reading.answer_of(call), call.told),
                ],
                said.order,
            )


def _left_it(reading: Reading, change: Call) -> bool:
    """Whether a change left the thing in the state that its record had told before."""
    sights = reading.things.known(change.own, change.asked)
    before = sights[-1].record if sights else {}
    after = change.document if isinstance(change.document, dict) else {}
    return any(key in after and before.get(key) == after[key] for key in _STATES)


DETECTOR = OverStory(
    "closed-door",
    "agent",
    "linkage",
    "changes of a thing, and refusals that name its state",
    _find,
)
DETECTORS = [DETECTOR]
