"""Something was changed without the word that the instructions want first."""

from collections.abc import Iterator

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import consents
from rerail.trace.finding import Finding


def _find(reading: Reading) -> Iterator[Finding]:
    rule = reading.talk.rule
    for call in reading.acts if rule else ():
        approval = reading.talk.approval(call.asked)
        if approval.replied is None or consents(approval.reply):
            continue
        said = reading.said[call.asked]
        yield DETECTOR.finding(
            f"{call.name} was called though the last reply says no yes",
            [
                place(reading.story, reading.said[approval.replied], approval.reply),
                place(reading.story, said, call.same),
            ],
            said.order,
            contradicts=rule,
        )


DETECTOR = OverStory(
    "unapproved-write", "boundary", "linkage", "a write, and the last reply before it", _find
)
DETECTORS = [DETECTOR]
