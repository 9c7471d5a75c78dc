"""The person who gave the task was unsure, or wanted something else than before. Context.

What a task leaves open is decided while it runs, and not always as its author meant.
"""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_UNSURE: Final = re.compile(
    r"\b(actually|instead|on second thought|never ?mind|changed my mind|might as well|i guess|"
    r"i suppose|not sure|whichever|for now|rather than)\b",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    asked = False
    for said in reading.said:
        found = _UNSURE.search(said.message.text) if said.message.role == "user" else None
        if asked and found:
            yield DETECTOR.finding(
                f"the task's own words turn: “{found.group(0)}”",
                [place(reading.story, said, said.message.text)],
                said.order,
            )
        asked = asked or said.message.role == "user"


DETECTOR = OverStory(
    "changed-mind", "task", "context", "what a person says after the first message", _find
)
DETECTORS = [DETECTOR]
