"""A change was agreed to in general: nothing of what was then written had been named."""

from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.agreement import agreed_before
from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.values import leaves
from rerail.trace.detect.words import figures, holds, plain
from rerail.trace.finding import Finding

_SHORTEST: Final = 3


def _find(reading: Reading) -> Iterator[Finding]:
    rule = reading.talk.rule
    for call in reading.acts if rule else ():
        approval = reading.talk.approval(call.asked)
        if approval.proposed is None or not call.things:
            continue
        text = plain(approval.text)
        if any(holds(text, word) for word in _words(reading, call)) or agreed_before(reading, call):
            continue
        if not set(figures(approval.text)).isdisjoint(call.numbers):
            continue
        said = reading.said[call.asked]
        yield DETECTOR.finding(
            f"{call.name} was called, and what was agreed to names nothing of it",
            [
                place(reading.story, reading.said[approval.proposed], approval.text[-160:]),
                place(reading.story, said, call.same),
            ],
            said.order,
            contradicts=rule,
        )


def _words(reading: Reading, call: Call) -> set[str]:
    """All by which what is written could have been named."""
    found = {plain(value) for _, value in leaves(call.call.arguments) if isinstance(value, str)}
    for thing in call.things:
        found |= {plain(word) for word in reading.things.words(thing, call.asked)}
        found.add(plain(thing))
    return {word for word in found if len(word) >= _SHORTEST}


DETECTOR = OverStory(
    "unlisted-write", "boundary", "linkage", "a write, and all that the approval names", _find
)
DETECTORS = [DETECTOR]
