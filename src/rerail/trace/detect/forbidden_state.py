"""A change was made to a thing whose last record says that it may not be."""

import re
from collections.abc import Iterator
from typing import Any, Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import does
from rerail.trace.detect.words import plain, sentences
from rerail.trace.finding import Finding

_ONLY_IF: Final = re.compile(
    r"can only be (\w+) if (?:its|the) (\w+) (?:is|are) ['\"‘“]?([\w ]+?)['\"’”]?(?:[,.;]|$| and)",
    re.IGNORECASE,
)
_CANNOT: Final = re.compile(
    r"\b([A-Z][a-z]+(?: [a-z]+)?) (\w+) (?:cannot|can't|can not|may not|must not) be (\w+)"
)


def _find(reading: Reading) -> Iterator[Finding]:
    rules = [one for one in sentences(reading.instructions) if _ONLY_IF.search(one)]
    rules += [one for one in sentences(reading.instructions) if _CANNOT.search(one)]
    for call in reading.writes if rules else ():
        for thing, key in call.things.items():
            sight = reading.things.record(thing, key, call.asked)
            if sight is None or not isinstance(call.call.arguments, dict):
                continue
            broken = next(_broken(rules, call, sight.record), None)
            if broken:
                said = reading.said[call.asked]
                yield DETECTOR.finding(
                    f"{call.name} was called for {thing}, whose last record says {broken[1]}",
                    [
                        place(reading.story, reading.said[sight.seen], broken[1]),
                        place(reading.story, said, call.same),
                    ],
                    said.order,
                    contradicts=broken[0],
                )
                break


def _broken(rules: list[str], call: Call, record: Any) -> Iterator[tuple[str, str]]:
    """The rules that a call breaks, each with what the record says."""
    for rule in rules:
        only = _ONLY_IF.search(rule)
        if only and does(call.name, only.group(1)):
            state = record.get(only.group(2).lower())
            if isinstance(state, str) and plain(state) != plain(only.group(3)):
                yield rule, f"{only.group(2)} {state}"
        never = _CANNOT.search(rule)
        if never and does(call.name, never.group(3)):
            states = [
                str(key)
                for key, value in record.items()
                if plain(str(value)) == plain(never.group(1))
            ]
            part = never.group(2).lower()
            if states and _differs(call.call.arguments.get(part), record.get(part)):
                yield rule, f"{states[0]} {record[states[0]]}"


def _differs(written: Any, known: Any) -> bool:
    """Whether what is written for a part is not what the record has, as far as both say it."""
    if isinstance(written, list) and isinstance(known, list):
        return len(written) != len(known) or any(map(_differs, written, known))
    if isinstance(written, dict) and isinstance(known, dict):
        return any(_differs(written[key], known[key]) for key in written.keys() & known.keys())
    return written is not None and known is not None and written != known


DETECTOR = OverStory(
    "forbidden-state",
    "agent",
    "linkage",
    "rules of state in the instructions, and the last record of what is changed",
    _find,
)
DETECTORS = [DETECTOR]
