"""A change was refused for a figure in it: the target knows another price, sum or balance."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_FIGURE: Final = re.compile(r"\b(amount|total|price|balance|sum|quantity|cost|fee)\b", re.I)


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.writes:
        if is_error(call) and _FIGURE.search(call.told.strip().partition("\n")[0][:300]):
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} was refused for a figure: {call.told.strip()[:120]}",
                [
                    place(reading.story, reading.said[call.asked], call.same),
                    place(reading.story, said, call.told),
                ],
                said.order,
            )


DETECTOR = OverStory(
    "refused-figure", "target", "linkage", "refused writes, and what the refusal speaks of", _find
)
DETECTORS = [DETECTOR]
