"""A change was refused, and another one made in its place without asking."""

from collections.abc import Iterator
from itertools import pairwise

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place, shortened
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.talk import named
from rerail.trace.detect.values import canonical, leaves
from rerail.trace.detect.words import identifier
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    rule = reading.talk.rule
    for first, second in pairwise(reading.acts if rule else ()):
        replied = reading.talk.last("user", second.asked)
        if not is_error(first) or second.name != first.name or second.same == first.same:
            continue
        if replied is None or replied > first.asked or _is_of_another(reading, first, second):
            continue
        if not _altered(reading, first, second):
            continue
        said = reading.said[second.asked]
        yield DETECTOR.finding(
            f"{second.name} was refused, and called again with other arguments without asking",
            [
                place(reading.story, reading.answer_of(first), first.told),
                place(reading.story, said, _difference(first, second)),
            ],
            said.order,
            contradicts=rule,
        )


def _is_of_another(reading: Reading, first: Call, second: Call) -> bool:
    """Whether it is a change of another thing, and not of the first under its right name."""
    both = (first, second)
    named_alike = first.own == second.own or not all(call.own for call in both)
    return not named_alike and all(reading.was_said(call.own, call.asked) for call in both)


def _altered(reading: Reading, first: Call, second: Call) -> bool:
    """Whether anything but the right name of a thing that had been named changed."""
    before = sorted(canonical(value) for _, value in leaves(first.call.arguments))
    after = sorted(canonical(value) for _, value in leaves(second.call.arguments))
    new = [value for _, value in leaves(second.call.arguments) if canonical(value) not in before]
    text = reading.talk.upto(second.asked)
    for value in new:
        thing = identifier(value)
        among = reading.things.alternatives(thing, second.asked) if thing else {}
        words = reading.things.words(thing, second.asked) if among else frozenset[str]()
        if not thing or not named(thing, text, among, words):
            return True
    return not new and before != after


def _difference(first: Call, second: Call) -> str:
    before = dict(leaves(first.call.arguments))
    after = dict(leaves(second.call.arguments))
    changed = {path: value for path, value in after.items() if before.get(path) != value}
    return shortened(", ".join(f"{path}: {value}" for path, value in changed.items()))


DETECTOR = OverStory(
    "altered-after-refusal",
    "boundary",
    "linkage",
    "a refused write, the next one, and whether anybody spoke between",
    _find,
)
DETECTORS = [DETECTOR]
