"""A change was made that the instructions allow only where a record says yes, and it says no.

`Economy flights can be cancelled only if insurance is bought`, and the record has no insurance.
Where the sentence before names exceptions, it is said only if none of them is in sight.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import does
from rerail.trace.detect.words import plain, sentences
from rerail.trace.finding import Finding

_ONLY_IF: Final = re.compile(
    r"\bcan be (?P<done>\w{1,20}) only if (?:the |an? )?(?P<what>(?:\w{1,20} ){1,4}?)"
    r"(?:is|are|was|were|has been) \w",
    re.IGNORECASE,
)
_OTHERWISE: Final = re.compile(r"\b(otherwise|other)\b", re.IGNORECASE)
_WITHIN: Final = re.compile(r"\bwithin (\d{1,3}) (hour|day)s?\b", re.IGNORECASE)
_NOW: Final = re.compile(r"\bcurrent (?:time|date) is ([\d-]{10}(?:[T ][\d:]{5,8})?)")
_CLAUSE: Final = re.compile(r"\bif (?:the )?([\w ]+)")
_SMALL: Final = frozenset(("the", "a", "an", "is", "are", "was", "were", "has", "been", "their"))
_NO: Final = frozenset(("no", "none", "false", "0", "not bought"))


class _Rule(NamedTuple):
    text: str
    states: frozenset[str]
    done: str
    what: str
    before: str


def _find(reading: Reading) -> Iterator[Finding]:
    rules = list(_rules(reading.instructions))
    for call in reading.writes if rules else ():
        for thing, key in call.things.items():
            sight = reading.things.record(thing, key, call.asked)
            broken = sight and not is_error(call) and _broken(reading, rules, call, sight.record)
            if sight and broken:
                said, (rule, says) = reading.said[call.asked], broken
                yield DETECTOR.finding(
                    f"{call.name} was called for {thing}, whose last record says {says}",
                    [
                        place(reading.story, reading.said[sight.seen], says),
                        place(reading.story, said, call.same),
                    ],
                    said.order,
                    contradicts=f"{rule.before} {rule.text}".strip(),
                )
                break


def _rules(instructions: str) -> Iterator[_Rule]:
    """Of `basic or saver seats can be …` the states are `basic` and `saver`, without the noun."""
    for before, text in pairwise(["", *sentences(instructions)]):
        found = _ONLY_IF.search(text)
        if found:
            *states, last = re.split(r", | or | and ", text[: found.start()].lower())
            states.append(last.strip().rpartition(" ")[0])
            yield _Rule(
                text,
                frozenset(map(plain, states)) - {""},
                found["done"].lower(),
                found["what"].lower().split()[-1],
                before if _OTHERWISE.search(text) else "",
            )


def _broken(
    reading: Reading, rules: list[_Rule], call: Call, record: Mapping[str, Any]
) -> tuple[_Rule, str] | None:
    """The rule that a call breaks, with what the record says."""
    values = {plain(str(value)): str(key) for key, value in record.items()}
    for rule in rules:
        state = next((one for one in rule.states if one in values), None)
        asked = next((str(key) for key in record if rule.what in plain(str(key)).split()), "")
        if state is None or not asked or not does(call.name, rule.done):
            continue
        no = record[asked] is not None and plain(str(record[asked])) in _NO
        if no and not _excepted(reading, rule, call, record):
            return rule, f"{values[state]} {state}, {asked} {record[asked]}"
    return None


def _excepted(reading: Reading, rule: _Rule, call: Call, record: Mapping[str, Any]) -> bool:
    """Whether one of the exceptions may hold: it is recent enough, or somebody spoke of one."""
    within = _WITHIN.search(rule.before)
    if within:
        span = timedelta(**{f"{within[2].lower()}s": int(within[1])})
        now, made = _now(reading.instructions), _made(record)
        if now is None or made is None or now - made <= span:
            return True
    spoken = set(re.findall(r"\w+", reading.talk.of_people(call.asked)))
    clauses = (set(plain(one).split()) - _SMALL for one in _CLAUSE.findall(rule.before))
    return any(clause and clause <= spoken for clause in clauses)


def _now(instructions: str) -> datetime | None:
    found = _NOW.search(instructions)
    return _moment(found[1]) if found else None


def _made(record: Mapping[str, Any]) -> datetime | None:
    """When a record says that its thing was made."""
    made = (value for key, value in record.items() if str(key).startswith("created"))
    return _moment(str(next(made, "")))


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


DETECTOR = OverStory(
    "unmet-condition",
    "agent",
    "linkage",
    "conditions in the instructions, and the last record of what is changed",
    _find,
)
DETECTORS = [DETECTOR]
