"""Read a file that another program wrote: which format it is, and its stories.

One table of formats; the first that knows the file reads it. Plug-ins (entry points of the group
`rerail.formats`) come after ours, where they are asked for.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rerail.formats import (
    chats,
    claude_code,
    codex,
    har,
    inspect_log,
    langsmith,
    openai_agents,
    otlp,
    qwen_code,
    swe_agent,
    tau2,
)
from rerail.formats import mapping as mapping_format
from rerail.formats.file import Foreign, ImportRefused, is_archive, open_foreign
from rerail.formats.lines import Told
from rerail.trace.plug_ins import loaded
from rerail.trace.story import Story

GROUP: Final = "rerail.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name, how a file of it is known, how it is read."""

    name: str
    recognises: Callable[[Foreign], bool]
    read: Callable[[Foreign], list[Story]]


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that was read: its format, and a story for each run in it."""

    format: str
    stories: tuple[Story, ...]


FORMATS: Final = (
    Format(qwen_code.NAME, qwen_code.recognises, qwen_code.read),
    Format(claude_code.NAME, claude_code.recognises, claude_code.read),
    Format(codex.NAME, codex.recognises, codex.read),
    Format(openai_agents.NAME, openai_agents.recognises, openai_agents.read),
    Format(langsmith.NAME, langsmith.recognises, langsmith.read),
    Format(otlp.NAME, otlp.recognises, otlp.read),
    Format(har.NAME, har.recognises, har.read),
    Format(swe_agent.NAME, swe_agent.recognises, swe_agent.read),
    Format(tau2.NAME, tau2.recognises, tau2.read),
    Format(inspect_log.NAME, inspect_log.recognises, inspect_log.read),
    Format(chats.NAME, chats.recognises, chats.read),
)


def import_file(
    path: Path,
    *,
    mapping: Path | None = None,
    plugins: bool = False,
    told: Told | None = None,
) -> Imported:
    """Read a file. `mapping` says what the fields of somebody's own JSON lines are; `told` is told
    how much of how much has been read.

    Raises ImportRefused where no format knows it or it is broken, BadMapping, PlugInBroken.
    """
    with _uncollected():
        return _imported(path, mapping, plugins, told)


def _imported(path: Path, mapping: Path | None, plugins: bool, told: Told | None) -> Imported:
    if is_archive(path):
        return Imported(inspect_log.NAME, tuple(inspect_log.read_archive(path)))
    file = open_foreign(path, told)
    if mapping is not None:
        return Imported(mapping_format.NAME, tuple(mapping_format.read_mapped(file, mapping)))
    for known in (*FORMATS, *(loaded(GROUP) if plugins else ())):
        if known.recognises(file):
            return Imported(known.name, tuple(known.read(file)))
    names = ", ".join(known.name for known in FORMATS)
    hint = f"known are {names}; for JSON lines of your own write --mapping FILE"
    raise ImportRefused(f"cannot import {path}: it has none of the known formats", hint=hint)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles: all that is made here is kept, and would be looked at over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read_all(path: Path, *, mapping: Path | None = None) -> list[Story]:
    """The stories of a file, one for each run in it. Raises ImportRefused, BadMapping."""
    return list(import_file(path, mapping=mapping).stories)


def read(path: Path, *, name: str = "", run: int = 0, mapping: Path | None = None) -> Story:
    """The story of a file that holds one run, or the `run`-th (from 1) of those it holds.

    `name` is what the source is called in findings; the file's own name where it is not given.
    Raises ImportRefused, BadMapping.
    """
    stories = read_all(path, mapping=mapping)
    if run > len(stories) or (not run and len(stories) != 1):
        what = f"it holds {len(stories)} runs" + (f", and no run {run}" if run else "")
        raise ImportRefused(f"cannot import {path}: {what}", hint="say which: --run 1")
    story = stories[max(run, 1) - 1]
    return replace(story, source=name) if name else story
