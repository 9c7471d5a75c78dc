"""An identifier was written that no record and no words before hold."""

from collections.abc import Callable, Iterator

from rerail.trace.detect.call import Call
from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import identifier
from rerail.trace.finding import Finding


def _invented(reading: Reading) -> Iterator[tuple[Call, str, str]]:
    """The first identifier of each write that nothing before holds, with its field."""
    for call in reading.writes:
        for thing, key in call.things.items():
            told_at = reading.first_told.get(thing)
            if not identifier(thing) or (told_at is not None and told_at < call.asked):
                continue
            if not reading.was_said(thing, call.asked):
                yield call, thing, key
                break


def _finder(refused: bool) -> Callable[[Reading], Iterator[Finding]]:
    def find(reading: Reading) -> Iterator[Finding]:
        for call, thing, key in _invented(reading):
            if is_error(call) is refused:
                said = reading.said[call.asked]
                yield (REFUSED if refused else ACCEPTED).finding(
                    f"{call.name} was given {key} {thing}, which nothing before holds",
                    [place(reading.story, said, call.same)],
                    said.order,
                )

    return find


ACCEPTED = OverStory(
    "invented-value",
    "agent",
    "linkage",
    "identifiers in a write, and all that came before",
    _finder(refused=False),
)
REFUSED = OverStory(
    "invented-and-refused",
    "agent",
    "context",
    "the same, where the tool refused it and nothing was changed",
    _finder(refused=True),
)
DETECTORS = [ACCEPTED, REFUSED]
