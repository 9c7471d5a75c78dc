"""A tool was called with arguments that are no JSON, or with nothing but brackets and quotes.

Only where it refused them or did not answer: what a tool took, it could read.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.values import canonical, leaves
from rerail.trace.finding import Finding

_ONLY_SIGNS: Final = re.compile(r"[\s\"'`:,{}\[\]()\\/<>|]*")
_OBJECT: Final = re.compile(r"\s*[{\[]")


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        why = _why(call.call.arguments)
        if why and (call.answer is None or is_error(call)):
            said = reading.said[call.asked]
            yield DETECTOR.finding(
                f"{call.name} was called with arguments that {why}",
                [place(reading.story, said, canonical(call.call.arguments))],
                said.order,
            )


def _why(arguments: Any) -> str:
    """A free-form tool's text is no fault: one that begins as an object and is none is."""
    if isinstance(arguments, str) and _OBJECT.match(arguments):
        return "are not JSON"
    values = [value for _, value in leaves(arguments) if isinstance(value, str)]
    keys = list(arguments) if isinstance(arguments, dict) else []
    if keys and all(_ONLY_SIGNS.fullmatch(str(key)) for key in keys):
        return "name nothing"
    signs = [value for value in values if len(value) > 1 and _ONLY_SIGNS.fullmatch(value)]
    if values and len(signs) == len(values):
        return "are nothing but signs"
    return ""


DETECTOR = OverStory(
    "unreadable-arguments", "runtime", "structure", "the arguments of tool calls", _find
)
DETECTORS = [DETECTOR]
