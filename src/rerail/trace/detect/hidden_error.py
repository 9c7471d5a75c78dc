"""A tool's answer is marked as well, and its content says that something went wrong."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import error_inside, timed_out
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        error = "" if call.answer is None or call.answer.is_error else error_inside(call)
        if error and not timed_out(call):
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} answered as if all were well, and holds an error: {error[:120]}",
                [place(reading.story, said, call.told)],
                said.order,
            )


DETECTOR = OverStory(
    "hidden-error", "tool", "structure", "answers of tools that are not marked as errors", _find
)
DETECTORS = [DETECTOR]
