"""An identifier was written that no record and no words before hold."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import identifier, plain
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    for call in reading.writes:
        text = ""
        for thing, key in call.things.items():
            told_at = reading.first_told.get(thing)
            if not identifier(thing) or (told_at is not None and told_at < call.asked):
                continue
            text = text or plain(reading.told_before(call.asked))
            if plain(thing) in text or plain(thing).replace(" ", "") in text.replace(" ", ""):
                continue
            said = reading.said[call.asked]
            kind = REFUSED if is_error(call) else DETECTOR
            yield kind.finding(
                f"{call.name} was given {key} {thing}, which nothing before holds",
                [place(reading.story, said, call.same)],
                said.order,
            )
            break


def _with_the_other(reading: Reading) -> Iterator[Finding]:
    return iter(())


DETECTOR = OverStory(
    "invented-value", "agent", "linkage", "identifiers in a write, and all that came before", _find
)
REFUSED = OverStory(
    "invented-and-refused",
    "agent",
    "context",
    "the same, where the tool refused it and nothing was changed",
    _with_the_other,
)
DETECTORS = [DETECTOR, REFUSED]
