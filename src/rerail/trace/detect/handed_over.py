"""The agent gave the matter to a person. Context: often it is the right thing to do."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import hands_over
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if hands_over(call.name):
            said = reading.said[call.asked]
            yield DETECTOR.finding(
                f"{call.name}: the matter was given to a person",
                [place(reading.story, said, call.same)],
                said.order,
            )


DETECTOR = OverStory("handed-over", "agent", "context", "calls that hand over to a person", _find)
DETECTORS = [DETECTOR]
