"""A model call had no answer: a rate limit, a refused key, a fault of the provider, no reply."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_RATE: Final = re.compile(
    r"\b(429|529)\b|rate.?limit|too many requests|overloaded|quota", re.IGNORECASE
)
_KEY: Final = re.compile(
    r"\b40[13]\b|unauthorized|forbidden|api.?key|authentication", re.IGNORECASE
)


def _kind(error: str) -> str:
    if _RATE.search(error):
        return "rate-limited"
    return "key-refused" if _KEY.search(error) else "model-failed"


def _finder(name: str) -> Callable[[Reading], Iterator[Finding]]:
    def find(reading: Reading) -> Iterator[Finding]:
        answers = [said for said in reading.said if said.message.role == "assistant"]
        last_words = max((said.order for said in answers if said.message.parts), default=0)
        for said in answers:
            if said.error and _kind(said.error) == name:
                after = "answered later" if last_words > said.order else "did not answer again"
                yield _DETECTORS[name].finding(
                    f"the model did not answer, and {after}: {said.error[:120]}",
                    [place(reading.story, said, said.error)],
                    said.order,
                )

    return find


_DETECTORS: Final = {
    name: OverStory(name, "runtime", "structure", "replies that are errors", _finder(name))
    for name in ("model-failed", "rate-limited", "key-refused")
}
DETECTORS = list(_DETECTORS.values())
