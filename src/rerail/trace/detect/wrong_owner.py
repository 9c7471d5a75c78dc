"""Two things were written together that the records keep apart: a ticket under another customer."""

from collections.abc import Iterator
from typing import Any

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.things import Sight
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.writes:
        found = next(_apart(reading, call), None)
        if found:
            thing, other, key, sight = found
            said = reading.said[call.asked]
            yield DETECTOR.finding(
                f"{call.name} puts {thing} with {key} {other}, and its record says another",
                [
                    place(reading.story, reading.said[sight.seen], f"{key}: {sight.record[key]}"),
                    place(reading.story, said, call.same),
                ],
                said.order,
                contradicts=f"the record of {thing}: {key} {sight.record[key]}",
            )


def _apart(reading: Reading, call: Call) -> Iterator[tuple[str, str, str, Sight]]:
    for thing, key in call.things.items():
        sight = reading.things.record(thing, key, call.asked)
        if sight is None:
            continue
        for other, field in call.things.items():
            known = sight.record.get(field)
            if other != thing and field != key and _is_another(known, other):
                yield thing, other, field, sight


def _is_another(known: Any, other: str) -> bool:
    """A field that holds one identifier, and not this one."""
    if not isinstance(known, str | int) or isinstance(known, bool):
        return False
    text = str(known).lower().removeprefix("#")
    return bool(text) and len(text.split()) == 1 and text != other


DETECTOR = OverStory(
    "wrong-owner", "agent", "linkage", "things in one write, and what their records say", _find
)
DETECTORS = [DETECTOR]
