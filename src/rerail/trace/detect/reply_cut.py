"""A model's reply ended before it was done: at its length limit, or by the provider's filter."""

from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading, spoken
from rerail.trace.finding import Finding
from rerail.trace.story import Said

_LENGTH: Final = frozenset(
    ("length", "max_tokens", "max_output_tokens", "incomplete", "model_context_window_exceeded")
)
_FILTER: Final = frozenset(
    ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii")
)
_FILTERED: Final = ("content_filter", "content filter", "content management", "responsibleai")


def _find_length(reading: Reading) -> Iterator[Finding]:
    for said in reading.said:
        if said.finish_reason.lower() in _LENGTH:
            yield LENGTH.finding(
                f"the model's reply was cut at its length limit ({said.finish_reason})",
                [place(reading.story, said, spoken(said)[-160:])],
                said.order,
            )


def _find_filter(reading: Reading) -> Iterator[Finding]:
    for said in reading.said:
        if said.finish_reason.lower() in _FILTER or _filtered(said):
            yield FILTER.finding(
                "the provider's filter ended the model's reply",
                [place(reading.story, said, said.error or said.finish_reason)],
                said.order,
            )


def _filtered(said: Said) -> bool:
    return any(sign in said.error.lower() for sign in _FILTERED)


LENGTH = OverStory(
    "reply-cut", "runtime", "structure", "why each reply of a model ended", _find_length
)
FILTER = OverStory(
    "reply-filtered", "runtime", "structure", "why each reply of a model ended", _find_filter
)
DETECTORS = [LENGTH, FILTER]
