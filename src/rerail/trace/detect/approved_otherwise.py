"""What was written is not what was approved: another thing of the same kind, another amount."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.talk import Approval, named
from rerail.trace.detect.values import key_of, leaves
from rerail.trace.detect.words import amounts, kind_of, plain
from rerail.trace.finding import Finding

_AMOUNT: Final = re.compile(r"amount|price|sum|fee|total$", re.IGNORECASE)


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.acts:
        approval = reading.talk.approval(call.asked)
        if approval.replied is None or approval.proposed is None:
            continue
        differs = (
            _other_thing(call, approval)
            or _other_choice(reading, call, approval)
            or _other_amount(call, approval)
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
    kinds: dict[str, set[str]] = {}
    for thing in call.things:
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


def _other_amount(call: Call, approval: Approval) -> str:
    written = [
        float(value)
        for path, value in leaves(call.call.arguments)
        if _AMOUNT.search(key_of(path)) and isinstance(value, int | float)
    ]
    approved = set(amounts(approval.text))
    if not written or not approved or round(sum(written), 2) in approved:
        return ""
    if approved.issuperset(written):
        return ""
    return f"an amount of {_sums(written)}, and what was approved names {_sums(sorted(approved))}"


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
