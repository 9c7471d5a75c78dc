"""The message that tells a person of a change makes it: nobody could say no."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import sentences
from rerail.trace.finding import Finding

_NOT_BOTH: Final = re.compile(
    r"\bnot (respond|reply|speak|talk)\b.*\b(same time|simultaneously)\b", re.IGNORECASE
)


def _find(reading: Reading) -> Iterator[Finding]:
    rule = next((one for one in sentences(reading.instructions) if _NOT_BOTH.search(one)), "")
    for call in reading.acts if rule else ():
        said = reading.said[call.asked]
        if said.message.text.strip():
            yield DETECTOR.finding(
                f"{call.name} was called in the message that tells of it",
                [place(reading.story, said, f"{said.message.text} → {call.same}")],
                said.order,
                contradicts=rule,
            )


DETECTOR = OverStory(
    "announced-write", "agent", "linkage", "messages with both words and a write", _find
)
DETECTORS = [DETECTOR]
