"""A call failed, and the very next call was the same one."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import is_write
from rerail.trace.finding import Finding

_TRY_AGAIN: Final = re.compile(
    r"time-?d? ?out|timeout|try again|retry|rate limit|429|503|temporar|unavailable|busy|network|"
    r"connection",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    for earlier, call in pairwise(reading.calls):
        if is_write(call.name) or call.same != earlier.same or not is_error(earlier):
            continue
        if not _TRY_AGAIN.search(earlier.told[:1000]):
            said = reading.said[call.asked]
            yield DETECTOR.finding(
                f"{call.name} failed, and was called again as it was",
                [
                    place(reading.story, reading.answer_of(earlier), earlier.told),
                    place(reading.story, said, call.same),
                ],
                said.order,
            )


DETECTOR = OverStory("error-repeated", "agent", "linkage", "each call, and the next", _find)
DETECTORS = [DETECTOR]
