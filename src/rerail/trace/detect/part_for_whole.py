"""A part was approved, and the whole was changed: one article, and the whole order cancelled."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import act_of
from rerail.trace.detect.words import holds, plain, sentences
from rerail.trace.finding import Finding

_NAMES: Final = ("name", "title", "label")


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.acts:
        approval = reading.talk.approval(call.asked)
        if approval.proposed is None or len(call.things) != 1:
            continue
        ((thing, key),) = call.things.items()
        sight = reading.things.record(thing, key, call.asked)
        parts = _parts(sight.record) if sight else []
        text = plain(approval.text)
        named = [part for part in parts if _names(text, part)]
        if sight is None or not named or len(named) == len(parts):
            continue
        if _is_whole(approval.text, call, (thing, key), parts):
            continue
        said = reading.said[call.asked]
        yield DETECTOR.finding(
            f"{call.name} takes the whole of {thing}, and what was approved names {named[0]} alone",
            [
                place(reading.story, reading.said[sight.seen], ", ".join(parts)),
                place(reading.story, reading.said[approval.proposed], approval.text),
                place(reading.story, said, call.same),
            ],
            said.order,
            contradicts=" ".join(approval.text.split())[:300],
        )


def _is_whole(text: str, call: Call, names: tuple[str, str], parts: list[str]) -> bool:
    """Whether the whole is spoken of: `cancel the order`, or its identifier and no part of it."""
    act, thing = act_of(call.name), plain(names[0])
    kind = re.escape(plain(names[1]).removesuffix(" id"))
    outright = re.compile(rf"\b{act} (?:(?:the|this|that|my|your|whole|entire) ){{1,3}}{kind}\b")
    return any(
        outright.search(one)
        or (act in one and holds(one, thing) and not any(_names(one, part) for part in parts))
        for one in map(plain, sentences(text.replace("#", "")))
    )


def _parts(record: Mapping[str, Any]) -> list[str]:
    """What the parts of a thing are called, where it has several and each has a name."""
    for value in record.values():
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            names = [_name(one) for one in value]
            if all(names) and len(set(names)) > 1:
                return names
    return []


def _name(part: Mapping[str, Any]) -> str:
    return next((plain(part[key]) for key in _NAMES if isinstance(part.get(key), str)), "")


def _names(text: str, part: str) -> bool:
    last = part.rpartition(" ")[2].removesuffix("s")
    return holds(text, part) or holds(text, last) or holds(text, f"{last}s")


DETECTOR = OverStory(
    "part-for-whole",
    "agent",
    "linkage",
    "a write of a whole thing, its parts on record, and those that the approval names",
    _find,
)
DETECTORS = [DETECTOR]
