"""What a detector is: a name, what it may say, what it reads, and the function that reads it.

Knows no detector. Two kinds: those that read what was said (a `Reading`) and those that watch the
events of a tape go by, once, so that a tape of a million events needs no room.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from rerail.tape.records import Event
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Category, Evidence, Finding, Tier
from rerail.trace.story import Said, Story


@dataclass(frozen=True, slots=True)
class Detector:
    """One detector: its finding's `category` and `tier`, and in a few words what it reads."""

    name: str
    category: Category
    tier: Tier
    reads: str

    def finding(
        self,
        what: str,
        evidence: Iterable[Evidence],
        order: int,
        *,
        contradicts: str = "",
        missing: bool = False,
    ) -> Finding:
        """What it noticed."""
        return Finding(
            self.name, self.category, self.tier, what, tuple(evidence), order, contradicts, missing
        )


@dataclass(frozen=True, slots=True)
class OverStory(Detector):
    """A detector that reads what was said."""

    find: Callable[[Reading], Iterator[Finding]]


class Watch(Protocol):
    """A detector at work on one tape: it is shown each event in order, then the end."""

    def see(self, event: Event) -> Iterator[Finding]:
        """What this event shows."""
        ...

    def end(self) -> Iterator[Finding]:
        """What shows only now that no event follows."""
        ...


@dataclass(frozen=True, slots=True)
class OverEvents(Detector):
    """A detector that watches a tape's events. `begin` is given the source's name."""

    begin: Callable[[str], Watch]


@dataclass(frozen=True, slots=True)
class Record:
    """One tape's events, in order, read as often as they are asked for."""

    source: str
    events: Callable[[], Iterable[Event]]


@dataclass(frozen=True, slots=True)
class Material:
    """All that an investigation lays before the detectors."""

    stories: tuple[Story, ...] = ()
    records: tuple[Record, ...] = field(default=())


def place(story: Story, said: Said, says: str = "") -> Evidence:
    """A message as evidence."""
    return Evidence(story.source, said.ref, shortened(says))


def shortened(text: str, most: int = 160) -> str:
    """On one line, and no longer than a person reads at a glance."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
