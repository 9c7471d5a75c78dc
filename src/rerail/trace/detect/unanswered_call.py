"""A tool was called and no record says what came of it. Whether it ran, nobody can tell."""

from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_BY_THE_PROVIDER: Final = frozenset(
    ("web_search", "file_search", "code_interpreter", "image_generation")
)
"""Tools that a model's provider runs by itself, and whose results it does not always show."""


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if call.answer is not None or call.name in _BY_THE_PROVIDER:
            continue
        said = reading.said[call.asked]
        yield DETECTOR.finding(
            f"{call.name} was called and no record holds what it answered",
            [place(reading.story, said, call.same)],
            said.order,
            missing=True,
        )


DETECTOR = OverStory(
    "unanswered-call", "runtime", "structure", "tool calls and what answers them", _find
)
DETECTORS = [DETECTOR]
