"""A result was worked out, and the next figures told are others."""

from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.words import amounts, figures
from rerail.trace.finding import Finding

_WORKS_OUT: Final = frozenset(("calculate", "compute", "calculator", "sum", "eval", "evaluate"))
_NEAR: Final = 0.01


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        result = _result(call)
        at = None if result is None else _next_words(reading, call)
        if result is None or at is None:
            continue
        said = reading.said[at]
        if any(abs(figure - abs(result)) < _NEAR for figure in figures(said.message.text)):
            continue
        yield DETECTOR.finding(
            f"{call.name} gave {result:g}, and the next figures told do not hold it",
            [
                place(reading.story, reading.answer_of(call), call.told),
                place(reading.story, said, said.message.text),
            ],
            said.order,
        )


def _result(call: Call) -> float | None:
    if call.answered is None or not _works_out(call.name):
        return None
    try:
        return float(call.told.strip())
    except ValueError:
        return None


def _works_out(tool: str) -> bool:
    return not _WORKS_OUT.isdisjoint(words_of(tool))


def _next_words(reading: Reading, call: Call) -> int | None:
    """The next message with amounts in it, if the model speaks before anybody else does.

    Of several results in a row only the last is looked for: the others may have gone into it.
    """
    assert call.answered is not None
    for at in range(call.answered + 1, len(reading.said)):
        message = reading.said[at].message
        if message.role == "user" or any(
            _WORKS_OUT & set(words_of(one.name)) for one in message.tool_calls
        ):
            return None
        if message.role == "assistant" and amounts(message.text):
            return at
    return None


DETECTOR = OverStory(
    "unused-result", "agent", "linkage", "what a calculating tool gave, and the figures told", _find
)
DETECTORS = [DETECTOR]
