"""Checks that an agent ran: one that checked nothing, and one that says yes and no of the same."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.checking import is_check, runs_anything, went_well
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.tools import is_write
from rerail.trace.finding import Finding

_NOTHING: Final = re.compile(
    r"no tests? (ran|found|collected|to run|files found)|collected 0 items|ran 0 tests|"
    r"\b0 (tests|passed|specs)\b|no test suite found",
    re.IGNORECASE,
)


def _find_nothing(reading: Reading) -> Iterator[Finding]:
    for call in reading.calls:
        found = _NOTHING.search(call.told) if is_check(call) else None
        if found:
            said = reading.answer_of(call)
            yield NOTHING.finding(
                f"a check checked nothing: {found.group(0)}",
                [
                    place(reading.story, reading.said[call.asked], call.same),
                    place(reading.story, said, call.told),
                ],
                said.order,
            )


def _find_unstable(reading: Reading) -> Iterator[Finding]:
    """The same check twice with no other call between that may have changed something."""
    last: Call | None = None
    for call in reading.calls:
        if not is_check(call):
            last = last if not _may_change(call) else None
            continue
        if last is not None and last.same == call.same and went_well(last) != went_well(call):
            said = reading.answer_of(call)
            yield UNSTABLE.finding(
                f"the same check of the same state said {_word(last)}, then {_word(call)}",
                [
                    place(reading.story, reading.answer_of(last), last.told),
                    place(reading.story, said, call.told),
                ],
                said.order,
            )
        last = call if call.answer is not None else None


def _may_change(call: Call) -> bool:
    return is_write(call.name) or runs_anything(call)


def _word(call: Call) -> str:
    return "well" if went_well(call) else "not well"


NOTHING = OverStory(
    "nothing-checked", "check", "structure", "what checks say that the agent ran", _find_nothing
)
UNSTABLE = OverStory(
    "unstable-check", "check", "linkage", "the same check run twice in a row", _find_unstable
)
DETECTORS = [NOTHING, UNSTABLE]
