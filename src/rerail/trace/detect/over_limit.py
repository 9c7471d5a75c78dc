"""A change holds more of something than the instructions allow."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.values import objects
from rerail.trace.detect.words import kind_of, plain
from rerail.trace.finding import Finding

_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_AT_MOST: Final = re.compile(
    r"\b(?:at most|no more than|up to|a maximum of) (\w{1,9}) ([a-z]+(?: [a-z]+)?)", re.IGNORECASE
)


class _Limit(NamedTuple):
    most: int
    noun: str
    text: str


def _find(reading: Reading) -> Iterator[Finding]:
    limits = list(_limits(reading.instructions))
    for call in reading.writes if limits else ():
        for limit in limits:
            count = _count(call, limit.noun)
            if count > limit.most:
                said = reading.said[call.asked]
                yield DETECTOR.finding(
                    f"{call.name} was given {count} of {limit.noun}",
                    [place(reading.story, said, call.same)],
                    said.order,
                    contradicts=limit.text,
                )


def _limits(instructions: str) -> Iterator[_Limit]:
    for found in _AT_MOST.finditer(instructions):
        number = found.group(1).lower()
        most = (
            int(number) if number.isdecimal() else _WORDS.index(number) if number in _WORDS else 0
        )
        if most:
            yield _Limit(most, found.group(2).lower().rstrip("s"), found.group(0))


def _count(call: Call, noun: str) -> int:
    """How many it has of what a noun names: identifiers of that kind, or a list of that name."""
    last = noun.rpartition(" ")[2]
    kinds = [plain(kind_of(thing)) for thing in call.things]
    of_kind = sum(kind.endswith(noun) or kind == last for kind in kinds)
    lists = [
        len(value)
        for found in objects(call.call.arguments)
        for key, value in found.items()
        if isinstance(value, list) and plain(str(key)).rstrip("s") in (noun, last)
    ]
    return max([of_kind, *lists])


DETECTOR = OverStory(
    "over-limit", "agent", "linkage", "limits in the instructions, and what a write holds", _find
)
DETECTORS = [DETECTOR]
