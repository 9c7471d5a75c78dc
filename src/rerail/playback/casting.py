"""The children on a tape, and which of them a child of the replay is. Knows no process, no socket.

A child is another one's equal by its arguments, its folder and what its streams are, and by what it
is told: the earliest not yet given back among those that were told the same.
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rerail.compare.dialogue import Dialogue
from rerail.compare.redacted import blank_text
from rerail.errors import NotOnTape, TapeAltered
from rerail.playback.script import Script
from rerail.tape.chunks import decode_chunks
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    Event,
    McpMessage,
    ProcessEnded,
    ProcessOutput,
    ProcessSignalled,
    ProcessStarted,
    StreamKind,
    StreamName,
)

_OUTPUTS: Final[tuple[StreamName, ...]] = ("stdout", "stderr")

Key = tuple[int, bool, tuple[str, ...], str, tuple[tuple[str, str], ...]]


class Moment(NamedTuple):
    """How far things had come: so many model calls made, so much told to the child, so many signals
    sent to it."""

    turn: int = 0
    told: int = 0
    signals: int = 0

    def is_reached_by(self, other: "Moment") -> bool:
        """Whether the other is as far in all of them."""
        return all(mine <= its for mine, its in zip(self, other, strict=True))


@dataclass(frozen=True, slots=True)
class Piece:
    """What a recorded child put out at once, or (no bytes) the end of that stream.

    `after` is what had happened by then.
    """

    at: int
    stream: StreamName
    content: bytes
    after: "Moment"


@dataclass(slots=True)
class RecordedChild:
    """One child on the tape, as far as it can be given back."""

    started: ProcessStarted
    stdin: ProcessOutput | None = None
    outputs: list[ProcessOutput] = field(default_factory=list)
    signals: list[ProcessSignalled] = field(default_factory=list)
    messages: list[McpMessage] = field(default_factory=list)
    ended: ProcessEnded | None = None
    talked: bool = False
    wrote: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Its number on the tape."""
        return self.started.process_id

    @property
    def was_closed_before_its_end(self) -> bool:
        """Whether it had been told all, and knew it, when it ended."""
        stdin, ended = self.stdin, self.ended
        if stdin is None or ended is None or stdin.ended != "complete":
            return False
        return stdin.seq < ended.seq

    @property
    def not_given_back(self) -> str:
        """Why it has to run in any replay, or nothing."""
        if self.talked:
            return "it asked a model itself, and is answered from the tape"
        if self.wrote:
            more = ", …" if len(self.wrote) > 1 else ""
            return f"it wrote {self.wrote[0]}{more}, which no snapshot holds (`record --also`)"
        kept = {output.stream for output in self.outputs}
        for stream in _OUTPUTS:
            kind = self.started.streams.get(stream)
            if kind == "passed" or (kind in ("pipe", "file") and stream not in kept):
                return f"its {stream} is not on the tape"
        return ""


class Cast:
    """Every child of a recording, and which of them are still to come."""

    def __init__(self, script: Script) -> None:
        self._tape = script.tape
        self._asked_at = _asked_at(script)
        children = _children(script.tape.events())
        self._exchanges = [item.exchange for item in script.exchanges.values()]
        self._parents = _parents(script.tape)
        self._waiting: dict[Key, list[RecordedChild]] = {}
        self._mark_talkers(children.values(), script)
        self._mark_writers(children)
        for child in children.values():
            if not child.started.failed:
                inside = next((n for n in self._line(child.number)[1:] if n in children), 0)
                key = key_of(child.started, script.tape.run.cwd, inside)
                self._waiting.setdefault(key, []).append(child)

    def likely(self, key: Key) -> list[RecordedChild]:
        """Those that it could be, in recorded order."""
        return list(self._waiting.get(key, ()))

    def take(self, key: Key, child: RecordedChild) -> None:
        """This one has come."""
        self._waiting[key].remove(child)

    def put_back(self, key: Key, child: RecordedChild) -> None:
        """It was another one."""
        group = self._waiting[key]
        group.append(child)
        group.sort(key=lambda other: other.started.seq)

    def told(self, child: RecordedChild) -> bytes:
        """What it was told on its standard input, as far as it can be read."""
        return self._content(child.stdin) if child.stdin else b""

    def dialogue(self, child: RecordedChild) -> Dialogue | None:
        """What answers for a child that spoke JSON-RPC."""
        if not child.messages:
            return None
        spoken = [
            (message.sender == "agent", _blob(self._tape, message.content), message.joined)
            for message in child.messages
        ]
        return Dialogue(spoken)

    def pieces(self, child: RecordedChild) -> list[Piece]:
        """What it put out, in order."""
        killed = child.ended is not None and child.ended.signal != 0
        found: list[tuple[int, int, Piece]] = []
        for output in child.outputs:
            content, place = self._content(output), 0
            for size, at in self._table(output):
                piece = content[place : place + size]
                place += size
                moment = self.moment(child, at)
                found.append((at, 0, Piece(at, output.stream, piece, moment)))
            # What a signal ended ends its streams with it.
            # So does a dialogue: its end is that of the server.
            talks = bool(child.messages) and output.stream == "stdout"
            if output.ended != "cut" and not killed and not talks:
                moment = self.moment(child, output.at)
                found.append((output.at, 1, Piece(output.at, output.stream, b"", moment)))
        found.sort(key=lambda item: item[:2])
        return [piece for _, _, piece in found]

    def why_not(self, key: Key) -> str:
        """Why no recorded child is left that it could be."""
        if key in self._waiting:
            return "it was started fewer times in the recording"
        return "it is not on the tape"

    def requests_of(self, numbers: Container[int | None]) -> set[int]:
        """The recorded requests that these children made, or what they started."""
        found = (item for item in self._exchanges if item.process_id > 1)
        return {
            item.exchange_id
            for item in found
            if any(number in numbers for number in self._line(item.process_id))
        }

    def _line(self, number: int) -> list[int]:
        """A process and those it came from, up to the command."""
        found: list[int] = []
        while number > 1 and number not in found:
            found.append(number)
            number = self._parents.get(number, 0)
        return found

    def _mark_talkers(self, children: Iterable[RecordedChild], script: Script) -> None:
        """A child that asked a model is the agent, whoever started it: it must run."""
        # On a tape without model calls every request counts as one does on others.
        models = any(item.step for item in script.exchanges.values())
        talking = [
            item.exchange.process_id
            for item in script.exchanges.values()
            if (item.step is not None if models else item.side is None)
        ]
        numbers = {number for talker in talking for number in self._line(talker)}
        for child in children:
            child.talked = child.number in numbers

    def _mark_writers(self, children: dict[int, RecordedChild]) -> None:
        """A child that wrote where no snapshot looks, or whose own child did."""
        for event in self._tape.events():
            if isinstance(event, CaptureMissing):
                for number in self._line(event.process_id):
                    if number in children:
                        children[number].wrote += event.files

    def moment(self, child: RecordedChild, at: int) -> Moment:
        """How far things had come for a child at that time."""
        told = sum(size for size, came in self._table(child.stdin) if came <= at)
        signals = sum(event.at <= at for event in child.signals)
        return Moment(bisect_right(self._asked_at, at), told, signals)

    def _table(self, output: ProcessOutput | None) -> list[tuple[int, int]]:
        body = output.body if output else None
        if output is None or body is None:
            return []
        try:
            chunks = [(chunk.size, chunk.at_ns) for chunk in decode_chunks(body.chunks)]
        except ValueError:
            chunks = []
        return chunks if sum(size for size, _ in chunks) == body.size else [(body.size, output.at)]

    def _content(self, output: ProcessOutput) -> bytes:
        return _blob(self._tape, output.body.digest) if output.body else b""


def key_of(event: ProcessStarted, folder: str, inside: int) -> Key:
    """What two equal children have in common.

    `folder` is the run's; `inside` is the recorded child that both are part of, 0 for none.
    """
    return key(event.shell, event.argv, event.cwd, event.streams, folder, inside)


def key(
    shell: bool,
    argv: Sequence[str],
    cwd: str,
    streams: dict[StreamName, StreamKind],
    folder: str,
    inside: int,
) -> Key:
    """The same from its parts; arguments are redacted already."""
    words = tuple(blank_text(_readable(word))[0] for word in argv)
    root = folder.rstrip("/")
    place = f".{cwd[len(root) :]}" if cwd == folder or cwd.startswith(f"{root}/") else cwd
    return inside, shell, words, blank_text(_readable(place))[0], tuple(sorted(streams.items()))


def _readable(text: str) -> str:
    """As the tape spells what is no Unicode."""
    return text.encode("utf-8", "backslashreplace").decode()


def _children(events: Iterable[Event]) -> dict[int, RecordedChild]:
    found: dict[int, RecordedChild] = {}
    for event in events:
        match event:
            case ProcessStarted() if event.streams:
                found[event.process_id] = RecordedChild(event)
            case ProcessOutput() if event.process_id in found:
                child = found[event.process_id]
                if event.stream == "stdin":
                    child.stdin = event
                else:
                    child.outputs.append(event)
            case McpMessage() if event.process_id in found:
                found[event.process_id].messages.append(event)
            case ProcessSignalled() if event.process_id in found:
                found[event.process_id].signals.append(event)
            case ProcessEnded() if event.process_id in found:
                found[event.process_id].ended = event
    return found


def _parents(tape: Tape) -> dict[int, int]:
    return {
        event.process_id: event.parent_process_id
        for event in tape.events()
        if isinstance(event, ProcessStarted)
    }


def _asked_at(script: Script) -> list[int]:
    asked = (item.exchange.request for item in script.exchanges.values() if item.step)
    return sorted(event.at for event in asked if event is not None)


def _blob(tape: Tape, digest: bytes) -> bytes:
    try:
        return tape.blob(digest)
    except (TapeAltered, NotOnTape):
        return b""
