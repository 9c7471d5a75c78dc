"""What ordinary exploration looks like: errors, repeats, empty answers. Shown, and never blamed.

In hundreds of real runs these were no signs of failure: runs that succeed have as many.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_MOST_THINGS: Final = 24


def _find_errors(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if is_error(call):
            said = reading.answer_of(call)
            yield ERROR.finding(
                f"{call.name} answered with an error",
                [place(reading.story, said, call.told)],
                said.order,
            )


def _find_repeats(reading: Reading) -> Iterator[Finding]:
    changes = {call.asked for call in reading.writes}
    earlier: dict[str, Call] = {}
    for call in reading.calls:
        first = earlier.get(call.same)
        earlier[call.same] = call
        if first is None or call.asked in changes or first.told != call.told or is_error(call):
            continue
        if not any(first.asked < at < call.asked for at in changes):
            said = reading.said[call.asked]
            yield REPEAT.finding(
                f"{call.name} was called again and answered the same",
                [
                    place(reading.story, reading.said[first.asked], first.same),
                    place(reading.story, said, call.same),
                ],
                said.order,
            )


def _find_empty(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if call.answer is not None and call.told.strip() in ("", "[]", "{}", "null", "None"):
            said = reading.answer_of(call)
            yield EMPTY.finding(
                f"{call.name} answered with nothing", [place(reading.story, said)], said.order
            )


def _find_apart(reading: Reading) -> Iterator[Finding]:
    """Things in one write that no message before names together."""
    for call in reading.writes:
        things = sorted(call.things)[:_MOST_THINGS]
        texts = reading.told_texts[: call.asked] if things[1:] else []
        for one, other in combinations(things, 2):
            first = [text for text in texts if one in text]
            if (
                first
                and any(other in text for text in texts)
                and not any(other in t for t in first)
            ):
                said = reading.said[call.asked]
                yield APART.finding(
                    f"{call.name} puts {one} and {other} together, as no record does",
                    [place(reading.story, said, call.same)],
                    said.order,
                )
                break


ERROR = OverStory("tool-error", "tool", "context", "answers of tools", _find_errors)
REPEAT = OverStory("repeated-call", "agent", "context", "calls that are alike", _find_repeats)
EMPTY = OverStory("empty-answer", "tool", "context", "answers of tools", _find_empty)
APART = OverStory("never-together", "agent", "context", "things in one write", _find_apart)
DETECTORS = [ERROR, REPEAT, EMPTY, APART]
