"""A sum is written out, and does not come out: `$40 + $80 = $131`.

Only what stands there in figures is reckoned: numbers, signs and a result, nothing rounded.
"""

import re
from collections.abc import Iterator
from math import prod
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import figures
from rerail.trace.finding import Finding

_NUMBER: Final = r"[$€£]?\d[\d,]{0,12}(?:\.\d{1,4})?"
_SUM: Final = re.compile(
    rf"(?P<left>{_NUMBER}(?: ?[-+−–×*x] ?{_NUMBER}){{1,12}}) ?= ?\**(?P<right>{_NUMBER})"
    r"(?P<then>.?.?)"
)
_GOES_ON: Final = re.compile(r"(\w|[)+−–×*/%~≈-] ?)$")
_STILL: Final = re.compile(r"\.?\d| ?[+−–×*/x%-]")
_NEAR: Final = 0.01


def _find(reading: Reading) -> Iterator[Finding]:
    for said in reading.said:
        text = said.message.text if said.message.role == "assistant" else ""
        for found in _SUM.finditer(text):
            if _GOES_ON.search(text[: found.start()]) or _STILL.match(found["then"]):
                continue
            comes_to, right = _reckoned(found["left"]), figures(found["right"])
            if right and abs(comes_to - right[0]) > _NEAR:
                yield DETECTOR.finding(
                    f"{found['left']} is {comes_to:g}, and was told as {found['right']}",
                    [place(reading.story, said, text[max(0, found.start() - 60) : found.end()])],
                    said.order,
                    contradicts=f"{found['left']} = {comes_to:g}",
                )


def _reckoned(left: str) -> float:
    """What a row of numbers comes to, products first."""
    total, sign = 0.0, 1
    for piece in re.split(r"([-+−–])", left):
        if piece in "+-−–":
            sign = 1 if piece == "+" else -1
        else:
            total += sign * prod(figures(piece))
    return round(total, 2)


DETECTOR = OverStory("wrong-sum", "agent", "linkage", "sums that are written out in figures", _find)
DETECTORS = [DETECTOR]
