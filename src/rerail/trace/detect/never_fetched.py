"""A document was described that nobody had opened: its name was known, its content was not."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading, told
from rerail.trace.detect.values import canonical
from rerail.trace.finding import Finding

_DOCUMENT: Final = re.compile(
    r"https?://[^\s\"'<>)\]]+|(?<![\w/.-])[\w./-]{0,200}\w\.(?:pdf|md|txt|docx?|html?|csv|xlsx?|pptx?|rst)\b",
    re.IGNORECASE,
)
_DESCRIBES: Final = re.compile(
    r"\b(according to|says|states|describes|explains|shows|reports|mentions|recommends|lists|"
    r"concludes|based on|as (stated|described|shown) in|summary of|specifies|requires)\b",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    asked = [canonical(call.call.arguments) for call in reading.calls]
    if not asked:
        return
    for index, said in enumerate(reading.said):
        text = said.message.text
        if said.message.role != "assistant" or not _DESCRIBES.search(text):
            continue
        for name in dict.fromkeys(found.rstrip(".,;:") for found in _DOCUMENT.findall(text)):
            listed = _listed(reading, name, index)
            if listed is not None and not any(_opens(one, name) for one in asked):
                yield DETECTOR.finding(
                    f"{name} was described, and no call had opened it",
                    [
                        place(reading.story, reading.said[listed], told(reading.said[listed])),
                        place(reading.story, said, text),
                    ],
                    said.order,
                )
                break


def _listed(reading: Reading, name: str, before: int) -> int | None:
    """The tool's answer that only names it; None where none does, or where one quotes it."""
    naming = [
        call
        for call in reading.calls
        if call.answered is not None and call.answered < before and name in call.told
    ]
    if not naming or any(f"{name}:" in call.told for call in naming):
        return None
    return naming[0].answered


def _opens(arguments: str, name: str) -> bool:
    """Whether arguments name it, or all files like it."""
    last = name.rpartition("/")[2]
    return last in arguments or f"*.{last.rpartition('.')[2]}" in arguments


DETECTOR = OverStory(
    "never-fetched", "agent", "linkage", "documents that are described, and all calls", _find
)
DETECTORS = [DETECTOR]
