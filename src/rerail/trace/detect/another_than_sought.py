"""A look-up gave several records, and the one that was written does not hold what was looked for.

Only where another of them does: a customer was sought by name, and a ticket is filed under one of
another name.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.things import described
from rerail.trace.detect.values import leaves
from rerail.trace.detect.words import names_a_thing
from rerail.trace.finding import Finding

_SHORTEST: Final = 2


class _LookUp(NamedTuple):
    call: Call
    records: Mapping[str, frozenset[str]]


def _find(reading: Reading) -> Iterator[Finding]:
    given = _look_ups(reading)
    for write in reading.writes:
        found = next(_sought(given, write), None)
        if found is None:
            continue
        thing, lookup, word, other = found
        said = reading.said[write.asked]
        yield DETECTOR.finding(
            f"{write.name} was given {thing}, but {lookup.name} had been asked for “{word}”, which "
            f"is {other}",
            [
                place(reading.story, reading.said[lookup.asked], lookup.same),
                place(reading.story, reading.answer_of(lookup), lookup.told),
                place(reading.story, said, write.same),
            ],
            said.order,
            contradicts=f"the answer of {lookup.name}: “{word}” stands in the record of {other}",
        )


def _look_ups(reading: Reading) -> Mapping[str, list[_LookUp]]:
    """The look-ups that gave several records, by each thing that they gave."""
    found: dict[str, list[_LookUp]] = defaultdict(list)
    for call in reading.calls:
        records = _records(call.document)
        for name in records if len(records) > 1 else ():
            found[name.lower()].append(_LookUp(call, records))
    return found


def _sought(
    given: Mapping[str, list[_LookUp]], write: Call
) -> Iterator[tuple[str, Call, str, str]]:
    """The thing, the look-up that gave it, the word looked for, and the thing that holds it."""
    for thing in write.things:
        for lookup, records in given.get(thing, ()):
            if lookup.answered is None or lookup.answered > write.asked:
                continue
            name = _as_written(records, thing)
            for _, value in leaves(lookup.call.arguments):
                word = str(value).lower()
                holders = [other for other, own in records.items() if word in own]
                if len(word) > _SHORTEST and holders and word not in records[name]:
                    yield name, lookup, str(value), holders[0]


def _records(document: Any) -> Mapping[str, frozenset[str]]:
    """The records of a list, each by the identifier that it names itself with."""
    if not isinstance(document, list):
        return {}
    found = {}
    for record in document:
        if isinstance(record, dict):
            own = [value for key, value in record.items() if names_a_thing(str(key))]
            if own and isinstance(own[0], str):
                found[own[0]] = described(record)
    return found


def _as_written(records: Mapping[str, frozenset[str]], thing: str) -> str:
    return next(name for name in records if name.lower() == thing)


DETECTOR = OverStory(
    "another-than-sought",
    "agent",
    "linkage",
    "what a look-up was asked for, the records that it gave, and the one that is written",
    _find,
)
DETECTORS = [DETECTOR]
