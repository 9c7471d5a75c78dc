"""One of several things was chosen, such as a card to pay with, and nobody had named it.

Only where the instructions want a person's word first: else to choose is the agent's job.
"""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.talk import named
from rerail.trace.finding import Finding


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


DETECTOR = OverStory(
    "unspoken-choice",
    "agent",
    "linkage",
    "identifiers in a write, the alternatives that a record gave, and all that was said",
    _find,
)
DETECTORS = [DETECTOR]
