"""A tool was not let in: its key is missing, wrong or expired."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_REFUSED: Final = re.compile(
    r"\b40[13]\b|unauthori[sz]ed|(invalid|expired|missing|revoked) (api.?key|token|credential)|"
    r"(api.?key|token|credentials?) (is |has |have )?(invalid|expired|missing|revoked)|"
    r"authentication (failed|required)|not logged in",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        if is_error(call) and _REFUSED.search(call.told[:2000]):
            said = reading.answer_of(call)
            yield DETECTOR.finding(
                f"{call.name} was not let in: {call.told.strip()[:120]}",
                [place(reading.story, said, call.told)],
                said.order,
            )


DETECTOR = OverStory(
    "credential-refused", "runtime", "structure", "errors of tools that speak of keys", _find
)
DETECTORS = [DETECTOR]
