"""A tool's time was over: what it did by then, and after it, no record says."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import timed_out
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if timed_out(call):
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} had no answer in time: its outcome is unknown",
                [
                    place(reading.story, reading.said[call.asked], call.same),
                    place(reading.story, said, call.told),
                ],
                said.order,
            )


DETECTOR = OverStory("tool-timed-out", "tool", "structure", "answers that speak of time", _find)
DETECTORS = [DETECTOR]
