"""What was written is not what was approved: another thing of the same kind, another amount."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.talk import Approval, named
from rerail.trace.detect.values import key_of, leaves
from rerail.trace.detect.words import amounts, kind_of, plain
from rerail.trace.finding import Finding

_AMOUNT: Final = re.compile(r"amount|sum|fee|charge|total$", re.IGNORECASE)
_TIMES: Final = range(1, 10)
_MOST_PARTS: Final = 12


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.acts:
        approval = reading.talk.approval(call.asked)
        if approval.replied is None or approval.proposed is None:
            continue
        differs = (
            _other_thing(call, approval)
            or _other_choice(reading, call, approval)
            or _other_amount(reading, call, approval)
        )
        if differs:
            said = reading.said[call.asked]
            yield DETECTOR.finding(
                f"{call.name} writes {differs}",
                [
                    place(reading.story, reading.said[approval.proposed], approval.text),
                    place(reading.story, said, call.same),
                ],
                said.order,
                contradicts=reading.said[approval.proposed].message.text[:300],
            )


def _other_thing(call: Call, approval: Approval) -> str:
    """Identifiers of one kind; bare numbers alike in length may be of any kind."""
    kinds: dict[str, set[str]] = {}
    for thing in call.things:
        if not thing.isdigit():
            kinds.setdefault(kind_of(thing), set()).add(thing)
    for kind, written in kinds.items():
        approved = approval.named.get(kind, set())
        if approved and not written & approved:
            return f"{_list(written)}, and what was approved names {_list(approved)}"
    return ""


def _other_choice(reading: Reading, call: Call, approval: Approval) -> str:
    """Of things that stood beside each other, one was named and another written."""
    text = plain(approval.text)
    for thing in call.things:
        among = reading.things.alternatives(thing, call.asked)

        def is_named(one: str, among: Mapping[str, frozenset[str]] = among) -> bool:
            return named(one, text, among, reading.things.words(one, call.asked))

        if among and not is_named(thing):
            others = {one for one in among if one not in call.things and is_named(one)}
            if others:
                return f"{thing}, and what was approved names {_list(others)}"
    return ""


def _other_amount(reading: Reading, call: Call, approval: Approval) -> str:
    """An amount that nobody told, and that no sum, difference or multiple of those told makes."""
    written = [
        float(value)
        for path, value in leaves(call.call.arguments)
        if _AMOUNT.search(key_of(path)) and isinstance(value, int | float)
    ]
    approved = amounts(approval.text)
    if not written or not approved or _explained(written, approved):
        return ""
    if _explained(written, amounts(reading.talk.upto(call.asked)), most=1):
        return ""
    return (
        f"an amount of {_sums(written)}, and what was approved names {_sums(sorted(set(approved)))}"
    )


def _explained(written: Sequence[float], told: Sequence[float], most: int = _MOST_PARTS) -> bool:
    """Whether what is written was told, or is a sum, a difference or a multiple of what was."""
    if set(told).issuperset(written):
        return True
    sums = {0.0}
    for part in told[-most:]:
        sums |= {round(part + one, 2) for one in sums}
    pairs = product(told[-most:], repeat=2)
    known = {*told, *sums, *(round(abs(one - other), 2) for one, other in pairs)}
    return any(round(sum(written) / times, 2) in known for times in _TIMES)


def _list(things: set[str]) -> str:
    return ", ".join(sorted(things))


def _sums(numbers: list[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


DETECTOR = OverStory(
    "approved-otherwise",
    "boundary",
    "linkage",
    "a write's arguments against the proposal that was replied to",
    _find,
)
DETECTORS = [DETECTOR]
