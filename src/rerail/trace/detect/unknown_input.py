"""The task names a thing that is not there: no tool knows it, and nothing else was found then."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading, told
from rerail.trace.detect.words import holds, identifiers, plain
from rerail.trace.finding import Finding

_UNKNOWN: Final = re.compile(
    r"not found|no such|does ?n[o']t exist|do not exist|unknown|could not find|no \w+ with|404",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if not is_error(call) or not _UNKNOWN.search(call.told[:500]) or _went_on(reading, call):
            continue
        for thing in call.things:
            given = _given(reading, thing, call.asked)
            if given is not None and identifiers(call.told) <= {thing}:
                said = reading.answer_of(call)
                yield DETECTOR.finding(
                    f"{thing}, which the task names, is not known to {call.name}",
                    [
                        place(reading.story, reading.said[given], told(reading.said[given])),
                        place(reading.story, said, call.told),
                    ],
                    said.order,
                    contradicts=told(reading.said[given])[:300],
                )
                break


def _went_on(reading: Reading, call: Call) -> bool:
    """Whether something was found after it: the person knew better, or another way was taken."""
    return any(
        later.asked > call.asked and later.answer is not None and not is_error(later)
        for later in reading.calls
    )


def _given(reading: Reading, thing: str, before: int) -> int | None:
    """The message of a person that names it; None where a tool had told of it."""
    if reading.things.known(thing, before):
        return None
    for index in range(before):
        one = reading.said[index]
        if one.message.role == "user" and holds(plain(told(one)), plain(thing)):
            return index
    return None


DETECTOR = OverStory(
    "unknown-input", "task", "linkage", "identifiers that people give, and what tools know", _find
)
DETECTORS = [DETECTOR]
