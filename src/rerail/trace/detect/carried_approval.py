"""One yes, two changes: the second is of things that nobody was asked about."""

from collections.abc import Iterator
from itertools import pairwise

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import figures, holds, plain
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    rule = reading.talk.rule
    for first, second in pairwise(reading.acts if rule else ()):
        approval = reading.talk.approval(second.asked)
        if approval.replied is None or first.asked < approval.replied or not second.things:
            continue
        text = plain(approval.text)
        if any(holds(text, plain(thing)) for thing in second.things):
            continue
        if not second.numbers.isdisjoint(figures(approval.text)):
            continue
        same_thing = second.things.keys() & first.things.keys()
        if is_error(first) or (same_thing and second.name != first.name):
            continue
        said = reading.said[second.asked]
        yield DETECTOR.finding(
            f"{second.name} followed {first.name} on one yes, which names none of its things",
            [
                place(reading.story, reading.said[approval.replied], approval.reply),
                place(reading.story, reading.said[first.asked], first.same),
                place(reading.story, said, second.same),
            ],
            said.order,
            contradicts=rule,
        )


DETECTOR = OverStory(
    "carried-approval", "boundary", "linkage", "writes after one reply, and what it names", _find
)
DETECTORS = [DETECTOR]
