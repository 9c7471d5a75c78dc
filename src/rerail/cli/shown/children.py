"""Child processes of a run: one line each, or one whole. Opens no file."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rerail.cli.facts.events import ending_text, event_values
from rerail.cli.screen.texts import duration, for_person, one_line, say, seconds, size_text, table
from rerail.cli.shown import evidence
from rerail.cli.shown.evidence import Content
from rerail.errors import NotOnTape
from rerail.tape.reader import Tape
from rerail.tape.records import (
    McpMessage,
    ProcessEnded,
    ProcessOutput,
    ProcessStarted,
    StreamName,
)

STREAMS: Final[tuple[StreamName, ...]] = ("stdin", "stdout", "stderr")

_HEADERS = ("", "start", "child", "ended", "told", "stdout", "stderr", "took")
_NUMBERS = (1, 4, 5, 6, 7)
_YIELDING = (2, 3)


@dataclass(slots=True)
class Child:
    """One child: its beginning, what passed through its streams, how it ended."""

    started: ProcessStarted
    streams: dict[StreamName, ProcessOutput] = field(default_factory=dict)
    messages: list[McpMessage] = field(default_factory=list)
    ended: ProcessEnded | None = None

    @property
    def number(self) -> int:
        """Its number: `p3` is 3."""
        return self.started.process_id

    def size(self, name: StreamName) -> int:
        """How many bytes passed through a stream."""
        output = self.streams.get(name)
        sender = {"stdin": "agent", "stdout": "origin"}.get(name)
        said = sum(message.size for message in self.messages if message.sender == sender)
        return said + (output.body.size if output and output.body else 0)

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if self.started.failed:
            return f"not started: {self.started.failed}"
        if self.ended is None:
            return "running"
        if self.ended.unknown:
            return "unknown"
        return ending_text(self.ended.status, self.ended.signal)

    @property
    def failed(self) -> bool:
        """Whether a person will look at it first."""
        ended = self.ended
        return bool(self.started.failed) or (ended is not None and ended.status != 0)

    @property
    def took_ns(self) -> int | None:
        """How long it lasted, where that is known."""
        if self.ended is None or self.ended.unknown:
            return None
        return self.ended.at - self.started.at


def print_children(children: list[Child], start: int) -> None:
    """One line for each; `start` is when the run began."""
    if not children:
        return
    say()
    table(
        [_cells(child, start) for child in children],
        headers=_HEADERS,
        right=_NUMBERS,
        yielding=_YIELDING,
        failed=[child.failed for child in children],
    )


def words_of(started: ProcessStarted) -> str:
    """What was started: the words of a command, or what a shell was asked."""
    if started.shell and started.argv:
        return started.argv[0]
    return shlex.join(started.argv)


def _cells(child: Child, start: int) -> tuple[str, ...]:
    span = duration if for_person() else seconds
    took = child.took_ns
    sizes = [child.size(name) for name in STREAMS]
    return (
        f"p{child.number}",
        f"+{span(child.started.at - start)}",
        one_line(_shown(child.started)),
        child.outcome,
        *(size_text(size) if for_person() else str(size) for size in sizes),
        "" if took is None else span(took),
    )


def _shown(started: ProcessStarted) -> str:
    """The words; for a person a program by its name, wherever it lies."""
    words = words_of(started)
    program, _, rest = words.partition(" ")
    if not for_person() or started.shell or not program.startswith("/"):
        return words
    return f"{program.rpartition('/')[2]} {rest}".rstrip()


def child_values(child: Child) -> dict[str, Any]:
    """A child as JSON values, without what it said."""
    return {
        "process": child.number,
        "event": child.started.seq,
        "argv": child.started.argv,
        "shell": child.started.shell,
        "cwd": child.started.cwd,
        "parent": child.started.parent_process_id,
        "start_ns": child.started.at,
        "took_ns": child.took_ns,
        "failed": child.started.failed or None,
        "status": None if child.ended is None or child.ended.unknown else child.ended.status,
        "signal": child.ended.signal if child.ended else 0,
        "streams": child.started.streams,
        "sizes": {name: child.size(name) for name in STREAMS},
        "messages": len(child.messages),
    }


def child_events(child: Child) -> list[dict[str, Any]]:
    """Its events as JSON values, in order."""
    events = [child.started, *child.streams.values(), *child.messages]
    events += [child.ended] if child.ended else []
    return [event_values(event) for event in sorted(events, key=lambda event: event.seq)]


def contents(tape: Tape, child: Child) -> Iterator[tuple[ProcessOutput, Content]]:
    """What passed through its streams: those through which anything did."""
    for name in STREAMS:
        output = child.streams.get(name)
        if output is not None and output.body is not None:
            found = evidence.of_event(tape, output, None)
            if found is not None:
                yield output, found


def stream_of(tape: Tape, child: Child, name: StreamName) -> Iterator[bytes]:
    """The exact bytes of one stream. Raises NotOnTape where they were not kept."""
    if child.messages:
        sender = "agent" if name == "stdin" else "origin"
        for message in child.messages:
            if message.sender == sender:
                yield from evidence.of_message(tape, message).stream()
        return
    output = child.streams.get(name)
    if output is None:
        kind = child.started.streams.get(name, "not recorded")
        raise NotOnTape(
            f"the {name} of p{child.number} is not on the tape: it was {kind}",
            hint=f"`rerail show TAPE p{child.number}` shows what is there",
        )
    found = evidence.of_event(tape, output, None)
    if found is not None:
        yield from found.stream()
