"""A tool's answer is JSON that breaks off, or is broken inside."""

import json
from collections.abc import Callable, Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_NEAR_ITS_END: Final = 4
_BREAKS_OFF: Final = "breaks off"
_IS_BROKEN: Final = "is broken inside"
_BEGINNINGS: Final = ('{"', '[{"', '["', "{\n", "[\n")


def _finder(what: str) -> Callable[[Reading], Iterator[Finding]]:
    def find(reading: Reading) -> Iterator[Finding]:
        for call in reading.calls:
            if _broken(call.told.strip()) == what:
                said = reading.answer_of(call)
                yield (CUT if what == _BREAKS_OFF else MALFORMED).finding(
                    f"the answer of {call.name} is JSON that {what}",
                    [place(reading.story, said, call.told[-160:])],
                    said.order,
                )

    return find


def _broken(text: str) -> str:
    if not text.startswith(_BEGINNINGS):
        return ""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Extra data"):
            return ""
        unclosed = error.msg.startswith("Unterminated") or error.pos >= len(text) - _NEAR_ITS_END
        return _BREAKS_OFF if unclosed else _IS_BROKEN
    except (ValueError, RecursionError):  # a number of too many digits, too deep
        return ""
    return ""


CUT = OverStory(
    "truncated-reply", "tool", "structure", "answers of tools that are JSON", _finder(_BREAKS_OFF)
)
MALFORMED = OverStory(
    "malformed-reply", "tool", "structure", "answers of tools that are JSON", _finder(_IS_BROKEN)
)
DETECTORS = [CUT, MALFORMED]
