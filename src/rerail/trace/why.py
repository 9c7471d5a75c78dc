"""Where a value came from: every place in which it stands, in order, and what the first one means.

The places are facts. Where it came from is an interpretation of them, and kept apart.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rerail.trace.sources import Source, Speaker

Origin = Literal["given", "told", "by the model", "by the agent", "nowhere"]

_MEANING: dict[Speaker, Origin] = {
    "command": "given",
    "origin": "told",
    "model": "by the model",
    "agent": "by the agent",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A place in which the value stands: `whole` where it is all that stands there."""

    event: int
    at: int
    exchange: int
    speaker: Speaker
    title: str
    where: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a value came from.

    `places` are facts, the first place of each source in the order of events. `origin` is what they
    mean: `given` to the run at its start, `told` by an origin's reply, first said `by the model` or
    `by the agent` though nothing recorded before holds it, or `nowhere` on the tape at all.
    """

    value: str
    places: tuple[Place, ...]
    origin: Origin

    @property
    def first(self) -> Place | None:
        """Where it stands first."""
        return self.places[0] if self.places else None


def why(value: str, sources: Iterable[Source]) -> Provenance:
    """Look for a value in what a run holds; the case of letters counts."""
    places = tuple(_places(value, sources))
    origin = _MEANING[places[0].speaker] if places else "nowhere"
    return Provenance(value, places, origin)


def _places(value: str, sources: Iterable[Source]) -> Iterator[Place]:
    pattern = _pattern(value)
    for source in sources:
        for where, text in source.texts():
            found = pattern.search(text)
            if found is not None:
                yield Place(
                    source.event,
                    source.at,
                    source.exchange,
                    source.speaker,
                    source.title,
                    where,
                    text.strip() == value.strip(),
                )
                break


def _pattern(value: str) -> re.Pattern[str]:
    """The value where it is not a part of a longer word or number: `12` is not in `2012`."""
    before = r"(?<![^\W_])" if value[:1].isalnum() else ""
    after = r"(?![^\W_])" if value[-1:].isalnum() else ""
    return re.compile(before + re.escape(value) + after)
