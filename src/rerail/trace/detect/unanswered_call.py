"""A tool was called and no record says what came of it. Whether it ran, nobody can tell."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if call.answer is not None:
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
