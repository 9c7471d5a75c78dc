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
    r"\b(cannot|can't|can not|not allowed|already|no longer|status|state|non-\w+|only be)\b",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    made: dict[str, Call] = {}
    for call in reading.writes:
        if not is_error(call):
            made |= {thing: call for thing, key in call.things.items() if _is_own(key, call)}
            continue
        earlier = next((made[thing] for thing in call.things if thing in made), None)
        if earlier is None or not _STATE.search(call.told[:300]):
            continue
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


def _is_own(key: str, call: Call) -> bool:
    """The thing that a call is about is named first; what follows are its parts."""
    return next(iter(call.things.values())) == key or len(call.things) == 1


DETECTOR = OverStory(
    "closed-door",
    "agent",
    "linkage",
    "changes of a thing, and refusals that name its state",
    _find,
)
DETECTORS = [DETECTOR]
