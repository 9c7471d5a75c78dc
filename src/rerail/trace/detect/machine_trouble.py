"""The machine under the agent gave way: no room, no memory, too many files, a killed worker."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_TROUBLE: Final = re.compile(
    r"no space left on device|disk quota exceeded|read-only file system|cannot allocate memory|"
    r"out of memory|oom-?kill|too many open files|MemoryError\b|ENOSPC|ENOMEM|exit code 137|"
    r"\bworker (was )?(killed|died|lost|exited)",
    re.IGNORECASE,
)
_LOOKED_INTO: Final = 20_000


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        ends = call.told[:_LOOKED_INTO] + call.told[_LOOKED_INTO:][-_LOOKED_INTO:]
        found = _TROUBLE.search(ends) if is_error(call) else None
        if found:
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"while {call.name} was at work: {found.group(0)}",
                [place(reading.story, said, ends[max(0, found.start() - 60) : found.end() + 60])],
                said.order,
            )


DETECTOR = OverStory(
    "machine-trouble", "runtime", "structure", "errors of tools that speak of the machine", _find
)
DETECTORS = [DETECTOR]
