"""A value was told as that of a thing, and the record it was taken from does not name the thing."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import identifiers, plain, sentences
from rerail.trace.finding import Finding

_OF: Final = re.compile(
    r"\b(?:number|id|code|price|status|address|date|reference|link) (?:for|of) (?:the|your|this) "
    r"(?:[a-z]+ ){0,3}?([a-z]+)(?: (?:that|which|you|we|they|in|from|on|with) [^.]{0,60}?)? "
    r"(?:is|was)\b",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    for index, said in enumerate(reading.said):
        if said.message.role != "assistant":
            continue
        for sentence in sentences(said.message.text):
            of = _OF.search(sentence)
            found = _elsewhere(reading, index, sentence, of.group(1)) if of else None
            if of and found:
                value, at, words = found
                yield DETECTOR.finding(
                    f"{value} was told as that of {of.group(1)}, which its record does not name",
                    [
                        place(reading.story, reading.said[at], words),
                        place(reading.story, said, sentence),
                    ],
                    said.order,
                    contradicts=f"the record that holds {value}",
                )


def _elsewhere(
    reading: Reading, index: int, sentence: str, noun: str
) -> tuple[str, int, str] | None:
    """The only answer that holds the value, where it does not name the thing."""
    name = noun.lower().removesuffix("s")
    for value in identifiers(sentence):
        holding = [
            call
            for call in reading.calls
            if call.answered is not None and call.answered < index and value in call.told.lower()
        ]
        if len(holding) == 1 and holding[0].answered is not None:
            words = plain(holding[0].told)
            if name not in words and name not in plain(holding[0].same):
                return value, holding[0].answered, holding[0].told
    return None


DETECTOR = OverStory(
    "misplaced-value",
    "agent",
    "linkage",
    "values told of a thing, and their record",
    _find,
)
DETECTORS = [DETECTOR]
