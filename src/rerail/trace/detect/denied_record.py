"""Somebody was told that a thing has no such value, and its record holds one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.values import key_of, leaves
from rerail.trace.detect.words import identifiers, sentences
from rerail.trace.finding import Finding

_DENIED: Final = re.compile(
    r"\b(?:does not have|doesn't have|do not have|don't have|has no|have no|there is no|"
    r"there's no|without) (?:an? |any |the |its )?((?:\w+ ?){1,3})",
    re.IGNORECASE,
)
_COMMON: Final = frozenset(
    ("id", "number", "name", "key", "code", "type", "value", "a", "an", "for")
)
_NOTHING: Final = frozenset(("", "no", "none", "null", "false", "0", "n/a", "not set"))


def _find(reading: Reading) -> Iterator[Finding]:
    for index, said in enumerate(reading.said):
        if said.message.role != "assistant":
            continue
        for sentence in sentences(said.message.text):
            denied = _DENIED.search(sentence)
            found = _held(reading, index, sentence, denied.group(1)) if denied else None
            if found:
                seen, thing, path, value = found
                yield DETECTOR.finding(
                    f"it was told that {thing} has no such thing, and its record holds {path}",
                    [
                        place(reading.story, reading.said[seen], f"{path}: {value}"),
                        place(reading.story, said, sentence),
                    ],
                    said.order,
                    contradicts=f"the record of {thing}: {path} {value}",
                )


def _held(
    reading: Reading, index: int, sentence: str, denied: str
) -> tuple[int, str, str, str] | None:
    words = {word.rstrip("s") for word in denied.lower().split()} - _COMMON
    for thing in identifiers(sentence) if words else ():
        for sight in reversed(reading.things.known(thing, index)):
            found = _value(sight.record, words)
            if found:
                return sight.seen, thing, *found
    return None


def _value(record: Mapping[str, Any], words: set[str]) -> tuple[str, str] | None:
    for path, value in leaves(record):
        named = {word.rstrip("s") for word in key_of(path).lower().split("_")} - _COMMON
        if named and named <= words and str(value).lower() not in _NOTHING:
            return path, str(value)[:60]
    return None


DETECTOR = OverStory(
    "denied-record", "agent", "linkage", "what is said not to be there, and the records", _find
)
DETECTORS = [DETECTOR]
