"""A budget was used up: turns, cost or time, as the source says of the run's end."""

import re
from collections.abc import Iterator
from typing import Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_LIMIT: Final = re.compile(
    r"max_?turns|max_?steps|turn limit|step limit|exit_(cost|context|total_execution_time|format)|"
    r"cost limit|context (window|length)|budget|limits? ?(exceeded|reached)|recursion ?limit|"
    r"timeout|time limit",
    re.IGNORECASE,
)


def _find(reading: Reading) -> Iterator[Finding]:
    story = reading.story
    if story.said and _LIMIT.search(story.ended):
        last = story.said[-1]
        yield DETECTOR.finding(
            f"the run ended at a limit: {story.ended}",
            [place(story, last, story.ended)],
            last.order,
        )


DETECTOR = OverStory("limit-reached", "runtime", "structure", "how a run ended", _find)
DETECTORS = [DETECTOR]
