"""The same change was asked for again: after the same refusal, or though it had been made."""

from collections.abc import Iterator

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error, timed_out
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    earlier: dict[str, Call] = {}
    for call in reading.writes:
        first = earlier.get(call.same)
        earlier[call.same] = call
        if first is None or (call.puts_a_file and not is_error(first)):
            continue
        said = reading.said[call.asked]
        yield DETECTOR.finding(
            f"{call.name} was called again with the same arguments, {_though(first)}",
            [
                place(reading.story, reading.answer_of(first), first.told),
                place(reading.story, said, call.same),
            ],
            said.order,
        )


def _though(first: Call) -> str:
    if first.answer is None:
        return "and nobody knows what came of the first"
    if timed_out(first):
        return "though nobody knows whether the first was done"
    return "though it had been refused" if is_error(first) else "though it had been done"


DETECTOR = OverStory(
    "repeated-write", "agent", "linkage", "writes with the same arguments, and their answers", _find
)
DETECTORS = [DETECTOR]
