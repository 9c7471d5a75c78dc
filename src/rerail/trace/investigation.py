"""A case looked at: its records gathered, its links verified, its first divergence found."""

from collections.abc import Sequence
from dataclasses import dataclass

from rerail.trace.detect.detector import Material
from rerail.trace.detect.detector import Record as Watched
from rerail.trace.detect.detectors import detect
from rerail.trace.diagnosis import Diagnosis, diagnose
from rerail.trace.finding import Finding
from rerail.trace.gathered import Gathered, gather, worded
from rerail.trace.link import Link
from rerail.trace.links import verify_links
from rerail.trace.record import CaseSource
from rerail.trace.story import Story
from rerail.trace.timeline import Order


@dataclass(frozen=True, slots=True)
class Looked:
    """What a case's sources come to, before anybody asks for the safety state."""

    order: Order
    found: Gathered
    stories: tuple[Story, ...]
    links: list[Link]


def look(sources: Sequence[CaseSource]) -> Looked:
    """Read all sources once, and verify the links. Raises TapeAltered."""
    order = Order.of(sources)
    found = worded(gather(sources, order), sources)
    stories = tuple(story for source in sources if (story := source.story()) is not None)
    return Looked(order, found, stories, verify_links(found, stories))


def detected(sources: Sequence[CaseSource], looked: Looked) -> list[Finding]:
    """What the detectors notice in the conversations and in the events of the tapes."""
    watched = tuple(_watched(source) for source in sources if source.recorded)
    return detect(Material(looked.stories, watched))


def _watched(source: CaseSource) -> Watched:
    return Watched(source.name, lambda: source.events() or ())


def diagnosed(sources: Sequence[CaseSource], looked: Looked) -> Diagnosis:
    """The diagnosis of a case."""
    return diagnose(looked.found, looked.links, detected(sources, looked))
