"""A total was told that its own parts do not make, and that no record gives."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading, told
from rerail.trace.detect.words import amounts, figures
from rerail.trace.finding import Finding

_TOTAL: Final = re.compile(
    r"\b(?:total|sum|altogether)\b[^$€£\n]{0,40}[$€£]\s?([\d,]+(?:\.\d+)?)", re.I
)
_TIMES: Final = range(1, 10)
_MOST_PARTS: Final = 12


def _find(reading: Reading) -> Iterator[Finding]:
    known: set[float] = set()
    for said in reading.said:
        if said.message.role != "assistant":
            known.update(figures(told(said)))
            continue
        text = said.message.text
        for found in _TOTAL.finditer(text):
            total = amounts(f"${found.group(1)}")
            parts = amounts(text[: found.start()])
            if total and len(parts) > 1 and total[0] not in known and not _makes(parts, total[0]):
                yield DETECTOR.finding(
                    f"a total of {total[0]:g} was told, which {_list(parts)} do not make",
                    [place(reading.story, said, text[max(0, found.start() - 80) : found.end()])],
                    said.order,
                )
                break
        known.update(figures(text))


def _makes(parts: Sequence[float], total: float) -> bool:
    """Whether some of the parts, added, taken from each other or times a small number, make it."""
    sums = {0.0}
    for part in parts[-_MOST_PARTS:]:
        sums |= {round(part + one, 2) for one in sums}
    differences = {round(abs(one - other), 2) for one in parts for other in parts}
    return any(round(total / times, 2) in sums | differences for times in _TIMES)


def _list(parts: Sequence[float]) -> str:
    return ", ".join(f"{part:g}" for part in parts[-6:])


DETECTOR = OverStory(
    "wrong-total", "agent", "linkage", "totals that are told, and the amounts beside them", _find
)
DETECTORS = [DETECTOR]
