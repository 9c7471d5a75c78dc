"""A tool was asked for one thing, and answered with another."""

from collections.abc import Iterator

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        found = None if is_error(call) else _other(call)
        if found:
            key, asked, answered = found
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} was asked for {key} {asked}, and answered with {answered}",
                [
                    place(reading.story, reading.said[call.asked], call.same),
                    place(reading.story, said, call.told),
                ],
                said.order,
                contradicts=f"asked for: {key} {asked}",
            )


def _other(call: Call) -> tuple[str, str, str] | None:
    """The answer's own field of the same name holds another identifier."""
    answer = call.document
    for thing, key in call.things.items():
        told = answer.get(key) if isinstance(answer, dict) else None
        if isinstance(told, str | int) and not isinstance(told, bool):
            answered = str(told).lower().removeprefix("#")
            if answered and answered != thing:
                return key, thing, answered
    return None


DETECTOR = OverStory(
    "wrong-answer", "tool", "linkage", "what a tool was asked for, and what its answer is of", _find
)
DETECTORS = [DETECTOR]
