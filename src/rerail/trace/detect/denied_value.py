"""A thing was said to have no such value, by its identifier, and its own record holds one.

`Order W1 does not have a tracking number`, where the record of W1 has a `tracking_id`. Only what a
thing itself is said to lack: `without fees` or `there is no charge` says nothing of a record.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.things import Sight
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.values import key_of, leaves
from rerail.trace.detect.words import identifiers, sentences
from rerail.trace.finding import Finding

_LACKS: Final = re.compile(
    r"^(?!if |when |where |whether |unless |once )(?P<thing>[^,;:]{1,80}?)\W{0,4} "
    r"(?:does not have|doesn['’]t have|has no) (?:an? |any )?(?P<what>\w+(?: \w+){0,2})",
    re.IGNORECASE,
)
_SUFFIXES: Final = frozenset(("id", "ids", "number", "numbers", "code", "codes"))
_NOTHING: Final = frozenset(("", "no", "none", "null", "false", "0", "0.0", "n/a"))


def _find(reading: Reading) -> Iterator[Finding]:
    for index, said in enumerate(reading.said):
        for sentence, thing, what in _denials(said.message.text, said.message.role):
            sight = _last_of(reading, thing, index)
            held = _held(sight.record, what) if sight else ""
            if sight and held:
                yield DETECTOR.finding(
                    f"{thing} was said to have no such value, and its record holds {held}",
                    [
                        place(reading.story, reading.said[sight.seen], held),
                        place(reading.story, said, sentence),
                    ],
                    said.order,
                    contradicts=f"the record of {thing}: {held}",
                )


def _denials(text: str, role: str) -> Iterator[tuple[str, str, str]]:
    """Each sentence of the model that says what one thing lacks, with the thing and the lack."""
    for sentence in sentences(text) if role == "assistant" else ():
        lacks = None if sentence.endswith("?") else _LACKS.match(sentence)
        things = identifiers(lacks["thing"]) if lacks else set()
        if lacks and len(things) == 1:
            yield sentence, things.pop(), lacks["what"]


def _last_of(reading: Reading, thing: str, before: int) -> Sight | None:
    """The last record of a thing itself; None where the thing was changed after it."""
    own = reading.things.own(thing, before)
    changed = (call.asked for call in reading.acts if thing in call.things)
    stale = own and any(own[-1].seen < asked < before for asked in changed)
    return own[-1] if own and not stale else None


def _held(record: Mapping[str, Any], what: str) -> str:
    """The field whose name begins the words that were said, with its value; else nothing."""
    words = _stems(what.split())
    for path, value in leaves(record):
        name = _stems(words_of(key_of(path)))
        if name and name == words[: len(name)] and str(value).lower() not in _NOTHING:
            return f"{path} {value}"[:80]
    return ""


def _stems(words: list[str]) -> list[str]:
    return [word.lower().rstrip("s") for word in words if word.lower() not in _SUFFIXES]


DETECTOR = OverStory(
    "denied-value",
    "agent",
    "linkage",
    "what a thing is said to lack, and its own last record",
    _find,
)
DETECTORS = [DETECTOR]
