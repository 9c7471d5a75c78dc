"""A number of things was told, and the records hold another number of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.values import objects
from rerail.trace.detect.words import sentences
from rerail.trace.finding import Finding

_COUNTED: Final = re.compile(r"(?<![\w.$#])(\d{1,3}) ((?:\w+[- ]){0,3}?)(\w+s)\b", re.IGNORECASE)
_FEW: Final = 2
_ALL: Final = re.compile(
    r"\b(there (are|is)|we have|i (found|see)|in total|total of|altogether|currently)\b",
    re.IGNORECASE,
)
_SOME: Final = re.compile(
    r"\b(match\w*|your|under|below|than|that|which|of (these|those|them)|first|other)\b",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    answers = reading.answers
    shown: list[int] = []
    for index, said in enumerate(reading.said):
        if index in answers:
            shown.append(index)
        if said.message.role == "assistant" and said.message.text and shown:
            document = answers[shown[-1]].document
            wrong = next(_wrong(said.message.text, document), None)
            if wrong:
                told, held, what = wrong
                yield DETECTOR.finding(
                    f"{told} {what} were told, and the record holds {held}",
                    [
                        place(reading.story, reading.said[shown[-1]], answers[shown[-1]].told),
                        place(reading.story, said, said.message.text),
                    ],
                    said.order,
                    contradicts=f"{held} {what} in the tool's answer",
                )


def _wrong(text: str, document: Any) -> Iterator[tuple[int, int, str]]:
    """Only where all of them are counted: some that meet a wish may be fewer."""
    counts = dict(_counts(document))
    told = [one for one in sentences(text) if _ALL.search(one) and not _SOME.search(one)]
    for number, adjectives, noun in _COUNTED.findall("\n".join(told)):
        for word in re.findall(r"\w+", adjectives.lower()):
            held = counts.get(word)
            if held is not None and held != int(number):
                yield int(number), held, f"{word} {noun}"
        held = counts.get(f"{noun.lower()} listed")
        if held is not None and held != int(number) and not adjectives.strip():
            yield int(number), held, noun


def _counts(document: Any) -> Iterator[tuple[str, int]]:
    """How many records of a collection say yes to a field, and how many a named list holds."""
    for found in objects(document):
        records = [value for value in found.values() if isinstance(value, dict)]
        yield from _yes(records)
        for key, value in found.items():
            if isinstance(value, list):
                yield f"{str(key).lower()} listed", len(value)
                yield from _yes([one for one in value if isinstance(one, dict)])
    if isinstance(document, list):
        yield from _yes([one for one in document if isinstance(one, dict)])


def _yes(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    if len(records) < _FEW:
        return
    for key in records[0]:
        values = [record.get(key) for record in records]
        if all(isinstance(value, bool) for value in values):
            yield str(key).lower(), sum(map(bool, values))


DETECTOR = OverStory(
    "recount", "agent", "linkage", "numbers that are told, and the last answer of a tool", _find
)
DETECTORS = [DETECTOR]
