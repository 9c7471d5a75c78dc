"""One of several things was chosen, such as a card to pay with, and nobody had named it.

Only where the instructions want a person's word first: else to choose is the agent's job.
"""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.talk import named
from rerail.trace.detect.words import kind_of, plain
from rerail.trace.finding import Finding

_MOST: Final = re.compile(
    r"\b(cheap|larg|small|bigg|high|low|easi|fast|earli|lat)est\b|\b(most|least)\b"
)


def _find(reading: Reading) -> Iterator[Finding]:
    rule = reading.talk.rule
    for call in reading.acts if rule else ():
        for thing, key in call.things.items():
            among = reading.things.alternatives(thing, call.asked)
            if (
                not among
                or f"new_{key}" in call.call.arguments
                or named(
                    thing,
                    reading.talk.upto(call.asked),
                    among,
                    reading.things.words(thing, call.asked),
                )
            ):
                continue
            if _left_open(thing, reading.talk.of_people(call.asked)):
                continue
            said = reading.said[call.asked]
            shown = reading.things.known(thing, call.asked)[-1]
            yield DETECTOR.finding(
                f"{call.name} was given {key} {thing}, one of {len(among)}, which nobody named",
                [
                    place(reading.story, reading.said[shown.seen], ", ".join(sorted(among))),
                    place(reading.story, said, call.same),
                ],
                said.order,
                contradicts=rule,
            )
            break


def _left_open(thing: str, said: str) -> bool:
    """Whether people asked for any of its kind, or, where it has none, for the most of a sort."""
    kind = plain(kind_of(thing))
    if not re.match("[a-z]{2}", kind):
        return _MOST.search(said) is not None
    return re.search(rf"\b(an?|any|one of (my|the|your)) {re.escape(kind)}s?\b", said) is not None


DETECTOR = OverStory(
    "unspoken-choice",
    "agent",
    "linkage",
    "identifiers in a write, the alternatives that a record gave, and all that was said",
    _find,
)
DETECTORS = [DETECTOR]
