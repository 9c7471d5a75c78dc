"""The run ends with a question of the agent: what it needed to know, the task does not say."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_ASKS: Final = re.compile(
    r"\b(which|what|who|where|when|could you|can you|please (provide|specify|confirm|tell)|"
    r"do you want|should i|let me know (which|what|whether))\b[^.?!]*\?\W*$",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 1000
_POLITE: Final = re.compile(r"\b(anything else|further|else i can)\b", re.IGNORECASE)


def _find(reading: Reading) -> Iterator[Finding]:
    main = [said for said in reading.said if not said.lane]
    if not main or main[-1].message.role != "assistant" or main[-1].message.tool_calls:
        return
    text = main[-1].message.text.strip()[-_LOOKED_AT:]
    asked = sum(said.message.role == "user" for said in main)
    if _ASKS.search(text) and not _POLITE.search(text[-200:]):
        yield DETECTOR.finding(
            "the run ends with a question that nobody answered",
            [place(reading.story, main[-1], text[-160:])],
            main[-1].order,
            contradicts=_task(reading) if asked == 1 else "",
        )


def _task(reading: Reading) -> str:
    return next((s.message.text[:300] for s in reading.said if s.message.role == "user"), "")


DETECTOR = OverStory("open-question", "task", "structure", "the last words of the agent", _find)
DETECTORS = [DETECTOR]
