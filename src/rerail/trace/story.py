"""A run as words that were said, from whatever recorded it: what detectors read. Facts only.

A tape and an imported transcript give the same form. Knows no file format; what a source cannot
show is named in `gaps`, and never made up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rerail.llm.view import Message, Usage


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the run, once, in the order in which it came.

    `order` is where it stands in its source: the number of the event that brought it on a tape,
    the number of the message elsewhere; it never falls. `ref` is its place there
    (`rerail.trace.finding`).
    `at` is nanoseconds since 1970, None where the source does not say. `model`, `finish_reason` and
    `usage` are those of a model's message; a reply's `error` is what came instead of one. `lane`
    tells conversations beside each other apart, empty for the main one.
    """

    order: int
    ref: str
    message: Message
    at: int | None = None
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    error: str = ""
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that this source cannot show: which records, and what they would have shown."""

    what: str
    would_show: str


@dataclass(frozen=True, slots=True)
class Story:
    """One source's run. `recorded` is true for a tape, false for what was imported.

    `tools` gives the JSON schema of each tool's arguments, where the source holds it, an empty one
    for a tool that has none. `ended` is the source's own word for how the run ended, empty where it
    has none. `ids` are the identifiers that the source gives the run, by kind (`run`, `task`,
    `session`, `trace`).
    """

    source: str
    recorded: bool
    said: tuple[Said, ...]
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ended: str = ""
    gaps: tuple[Gap, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
