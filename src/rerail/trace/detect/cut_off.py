"""The run is over where somebody was still to answer: a tool's result or a person's words hang.

A source that has no end of its own may itself have been cut: the finding says that it is the last
that is held, and blames nobody.
"""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading, told
from rerail.trace.detect.tools import hands_over
from rerail.trace.finding import Finding

_LEAVING: Final = re.compile(
    r"\b(thanks?|thank you|bye|goodbye|never ?mind|that'?s (all|it)|take care)\b", re.IGNORECASE
)
_STOPPED: Final = re.compile(
    r"[#_*<\[]{2,}\w*(stop|end|done|exit)|^\W*[#_*<\[]{2,}[A-Z_]+\W*$", re.IGNORECASE
)
_GO_ON: Final = re.compile(
    r"\b(go ahead|proceed|finali[sz]e|please|can you|could you)\b|\?\s*$", re.IGNORECASE
)
_WELL: Final = re.compile(
    r"status 0$|success|submitted|complete|task_complete|end_turn|done|(\w+_)?stop$"
)
_ORDERS: Final = re.compile(r"\b(go ahead|proceed|finali[sz]e|do it)\b", re.IGNORECASE)


def _find(reading: Reading) -> Iterator[Finding]:
    main = [said for said in reading.said if not said.lane]
    ended = reading.story.ended.lower()
    if not main or main[-1].message.role not in ("user", "tool") or _WELL.match(ended):
        return
    last = main[-1]
    text = told(last)
    if last.message.role == "user" and (not text.strip() or _leaves(text)):
        return
    if last.message.role == "tool" and reading.calls and hands_over(reading.calls[-1].name):
        return
    hangs = "a tool's answer" if last.message.role == "tool" else "words of the user"
    yield DETECTOR.finding(
        f"the last that is held is {hangs}, and nothing follows",
        [place(reading.story, last, text)],
        last.order,
        missing=not ended,
    )


def _leaves(text: str) -> bool:
    """Whether a person's last words want no answer."""
    if _STOPPED.search(text):
        return not _ORDERS.search(text)
    return bool(_LEAVING.search(text) and not _GO_ON.search(text))


DETECTOR = OverStory("cut-off", "runtime", "structure", "the last message of a run", _find)
DETECTORS = [DETECTOR]
