"""A thing was chosen whose last record says that it is not to be had.

Only what a change takes anew is a choice: what it gives back may well be gone.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.values import canonical, objects
from rerail.trace.detect.words import figures
from rerail.trace.finding import Finding

_GONE: Final = frozenset(
    (
        "unavailable",
        "not available",
        "sold out",
        "out of stock",
        "discontinued",
        "closed",
        "deleted",
    )
)
_COUNTS: Final = ("stock", "quantity_available", "available_quantity", "in_stock", "available")

_PRICES: Final = ("price", "amount", "cost")
_NEW: Final = ("new_", "to_", "target_", "replacement_")
_TAKING: Final = frozenset(
    ("book", "reserve", "order", "buy", "purchase", "add", "select", "assign")
)


def _find(reading: Reading) -> Iterator[Finding]:
    yield from _taken(reading)
    yield from _quoted(reading)


def _taken(reading: Reading) -> Iterator[Finding]:
    for call in reading.writes:
        takes = words_of(call.name)[0] in _TAKING
        for thing, key in call.things.items():
            if not takes and not key.startswith(_NEW):
                continue
            sights = reading.things.known(thing, call.asked)
            says = _gone(sights[-1].record) if sights else ""
            if says:
                said = reading.said[call.asked]
                yield DETECTOR.finding(
                    f"{call.name} was given {thing}, whose last record says {says}",
                    [
                        place(reading.story, reading.said[sights[-1].seen], f"{thing}: {says}"),
                        place(reading.story, said, call.same),
                    ],
                    said.order,
                    contradicts=f"the record of {thing}: {says}",
                )
                break


def _quoted(reading: Reading) -> Iterator[Finding]:
    """Figures in a call that stand only in records of what is gone: its price is reckoned with."""
    priced: dict[float, list[tuple[int, str]]] = {}
    for index, said in enumerate(reading.said):
        for call in said.message.tool_calls:
            for figure in figures(canonical(call.arguments)):
                seen = priced.get(figure, [])
                if seen and all(says for _, says in seen):
                    at, says = seen[-1]
                    yield DETECTOR.finding(
                        f"{call.name} reckons with {figure:g}, which is of a thing that is {says}",
                        [
                            place(reading.story, reading.said[at], f"{figure:g}: {says}"),
                            place(reading.story, said, canonical(call.arguments)),
                        ],
                        said.order,
                        contradicts=f"the record: {figure:g}, {says}",
                    )
        answer = reading.answers.get(index)
        for record in objects(answer.document) if answer else ():
            for key in _PRICES:
                price = record.get(key)
                if isinstance(price, int | float) and not isinstance(price, bool):
                    priced.setdefault(round(float(price), 2), []).append((index, _gone(record)))


def _gone(record: Mapping[str, Any]) -> str:
    for key in _COUNTS:
        value = record.get(key)
        if value is False or (value == 0 and not isinstance(value, bool)):
            return f"{key} {str(value).lower()}"
    status = record.get("status") or record.get("availability")
    if isinstance(status, str) and status.lower().replace("_", " ") in _GONE:
        return status
    return ""


DETECTOR = OverStory(
    "unavailable-choice", "agent", "linkage", "things in a write, and their last records", _find
)
DETECTORS = [DETECTOR]
