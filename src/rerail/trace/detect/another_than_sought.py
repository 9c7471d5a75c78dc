"""A look-up gave several records, and the one that was written does not hold what was looked for.

Only where another of them does: a customer was sought by name, and a ticket is filed under one of
another name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.things import described
from rerail.trace.detect.values import leaves
from rerail.trace.detect.words import names_a_thing
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for write in reading.writes:
        found = next(_sought(reading, write), None)
        if found is None:
            continue
        thing, lookup, word, other = found
        said = reading.said[write.asked]
        assert lookup.answered is not None
        yield DETECTOR.finding(
            f"{write.name} was given {thing}, but {lookup.name} had been asked for “{word}”, which "
            f"is {other}",
            [
                place(reading.story, reading.said[lookup.asked], lookup.same),
                place(reading.story, reading.said[lookup.answered], lookup.told),
                place(reading.story, said, write.same),
            ],
            said.order,
            contradicts=f"the answer of {lookup.name}: “{word}” stands in the record of {other}",
        )


def _sought(reading: Reading, write: Call) -> Iterator[tuple[str, Call, str, str]]:
    """The thing, the look-up that gave it, the word looked for, and the thing that holds it."""
    for thing in write.things:
        for lookup in reading.calls:
            if lookup.answered is None or lookup.answered > write.asked:
                continue
            records = _records(lookup.document)
            chosen = next((own for name, own in records.items() if name.lower() == thing), None)
            if chosen is None or len(records) < 2:
                continue
            for _, value in leaves(lookup.call.arguments):
                word = str(value).lower()
                holders = [name for name, own in records.items() if word in own]
                if len(word) > 2 and holders and word not in chosen:
                    yield _as_written(records, thing), lookup, str(value), holders[0]


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
