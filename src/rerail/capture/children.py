"""Child processes of a recording: what stands between them and the agent, and what is kept of it.

What passes goes on at once (`proxy.pipes`) and then onto the tape. Knows no agent and no probe,
only what was said of a child.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rerail.proxy.pipes import Copying, PipeEnd
from rerail.proxy.said import (
    ANSWERED,
    OUTPUTS,
    STREAMS,
    Descriptors,
    Ended,
    Failed,
    Passed,
    Runs,
    Signalled,
    Started,
    StreamEnded,
    understood,
)
from rerail.tape.records import (
    Component,
    Event,
    McpMessage,
    ProcessEnded,
    ProcessOutput,
    ProcessSignalled,
    ProcessStarted,
    Side,
    StreamName,
)
from rerail.tape.writer import BodyWriter

if TYPE_CHECKING:
    from rerail.capture.dialogue import DialogueRecord
    from rerail.capture.recorder import Recorder


class ChildrenRecord:
    """All children of one recording."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder
        self._children: dict[int, _Child] = {}

    def hear(self, said: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any] | None:
        """One line of a probe, and the descriptors that came with it; gives the answer, if any."""
        saying = understood(said, descriptors)
        if isinstance(saying, Started):
            held = Descriptors(saying, descriptors)
            record = ChildRecord(self._recorder, saying)
            started = _Child(record, held, self._recorder, self._forget)
            if saying.plays:
                started.heard_elsewhere = {
                    name for name, kind in saying.streams.items() if kind == "pipe"
                }
            self._children[saying.child] = started
            return None
        child = self._children.get(saying.child) if saying else None
        match saying:
            case Runs() if child:
                child.runs(saying.pid)
            case Failed() if child:
                child.failed(saying.why)
            case Passed() if child:
                child.record.passed(saying.stream, saying.data)
            case StreamEnded() if child:
                child.stream_ended(saying.stream, saying.how)
            case Signalled():
                if child:
                    child.record.signalled(saying.signal)
                return ANSWERED
            case Ended() if child:
                child.ended(saying.status)
        return None

    def close(self) -> None:
        """The run is over: what is still open is cut, and said so."""
        for child in list(self._children.values()):
            child.close()

    def _forget(self, number: int) -> None:
        self._children.pop(number, None)


class _Child:
    """One child, and the descriptors that stand between it and the agent."""

    def __init__(
        self,
        record: "ChildRecord",
        held: Descriptors,
        recorder: "Recorder",
        gone: Callable[[int], None],
    ) -> None:
        self.record = record
        self._held = held
        self._gone = gone
        self._is_over = False
        self.heard_elsewhere: set[StreamName] = set()
        self._copies: list[Copying] = []
        if (content := held.file("stdin")) is not None:
            record.whole("stdin", content)
        for name in STREAMS:
            if held.has(f"{name}.source"):
                self._copies.append(self._copying(name, recorder))

    def _copying(self, name: StreamName, recorder: "Recorder") -> Copying:
        return Copying(
            self._held.take(f"{name}.source"),
            self._held.take(f"{name}.target"),
            lambda piece: self.record.passed(name, piece),
            lambda how: self.stream_ended(name, how),
            lambda: recorder.congested,
        )

    def stream_ended(self, name: StreamName, how: PipeEnd) -> None:
        """Nothing more passes through a stream."""
        self.heard_elsewhere.discard(name)
        self.record.stream_ended(name, how)
        self._forget_if_over()

    def runs(self, pid: int) -> None:
        """It was started; it may be over before that is heard."""
        self.record.runs(pid)
        self._forget_if_over()

    def failed(self, why: str) -> None:
        """It could not be started."""
        self.record.failed(why)
        self._is_over = True
        self.close()

    def ended(self, status: int) -> None:
        """The agent knows how it ended."""
        self._is_over = True
        for name in OUTPUTS:
            if (content := self._held.file(name)) is not None:
                self.record.whole(name, content)
        self.record.ended(status)
        self._forget_if_over()

    def close(self) -> None:
        """The run is over."""
        for copy in self._copies:
            copy.close()
        for name in self.heard_elsewhere:
            self.record.stream_ended(name, "cut")
        self._held.close()
        if not self._is_over:
            self.record.outlived()
        self._gone(self.record.number)

    def _forget_if_over(self) -> None:
        # What was told is not waited for: a child may end without having heard it all.
        waiting = self.heard_elsewhere - {"stdin"} or any(copy.open for copy in self._copies)
        if self._is_over and self.record.is_announced and not waiting:
            self._held.close()
            self._gone(self.record.number)


class ChildRecord:
    """One child on its way to the tape; what is told of it stands after its beginning."""

    def __init__(self, recorder: "Recorder", said: Started) -> None:
        self.number = said.child
        self._recorder = recorder
        self._said = said
        self._started = False
        self._waiting: list[Callable[[int, int], Event]] = []
        self._bodies: dict[StreamName, BodyWriter] = {}
        self._failed = False
        self._dialogue = self._possible_dialogue()

    def _possible_dialogue(self) -> "DialogueRecord | None":
        streams = self._said.streams
        if (streams.get("stdin"), streams.get("stdout")) != ("pipe", "pipe"):
            return None
        from rerail.capture.dialogue import DialogueRecord

        return DialogueRecord(self._spoken)

    def _spoken(self, sender: Side, line: bytes, joined: bool) -> None:
        recorder = self._recorder
        content = recorder.redactor.body(line)
        digest = recorder.writer.blob(content, lane=f"mcp {self.number} {sender}")
        component: Component = "agent" if sender == "agent" else "tool"
        self._emit(
            lambda at, wall: McpMessage(
                at=at,
                wall=wall,
                component=component,
                process_id=self.number,
                sender=sender,
                content=digest,
                size=len(content),
                joined=joined,
            )
        )

    @property
    def is_announced(self) -> bool:
        """Whether its beginning is on the tape."""
        return self._started

    def runs(self, pid: int) -> None:
        """It was started."""
        self._announce(max(pid, 0), "")
        for make in self._waiting:
            self._recorder.emit(make)
        self._waiting.clear()

    def failed(self, why: str) -> None:
        """It was not, and nothing more is told of it."""
        self._announce(0, why)
        self._failed = True

    def passed(self, name: StreamName, piece: bytes) -> None:
        """A piece of a stream."""
        at = self._recorder.clock.at()
        if self._dialogue is not None and name != "stderr":
            if self._dialogue.passed(name, piece, at):
                return
            self._no_dialogue()
            if name == "stdin":
                return
        self._keep(name, piece, at)

    def _no_dialogue(self) -> None:
        held = self._dialogue.given_up() if self._dialogue else []
        self._dialogue = None
        for at, piece in held:
            self._keep("stdin", piece, at)

    def _keep(self, name: StreamName, piece: bytes, at: int) -> None:
        body = self._bodies.get(name)
        if body is None:
            program = self._said.argv[0] if self._said.argv else ""
            side: Side = "agent" if name == "stdin" else "origin"
            lane = f"child {program} {name}"
            body = self._recorder.writer.body(exchange_id=0, side=side, lane=lane)
            self._bodies[name] = body
        recorder = self._recorder
        body.write(recorder.redactor.body(piece), at=at)

    def stream_ended(self, name: StreamName, how: PipeEnd) -> None:
        """The end of a stream."""
        if self._dialogue is not None and name != "stderr" and not self._dialogue.ended(name):
            self._no_dialogue()
        writer = self._bodies.pop(name, None)
        body = writer.finish(framing="close") if writer else None
        self._emit(
            lambda at, wall: ProcessOutput(
                at=at,
                wall=wall,
                component="agent",
                process_id=self.number,
                stream=name,
                body=body,
                ended=how,
            )
        )

    def whole(self, name: StreamName, content: bytes) -> None:
        """All of a stream at once."""
        if content:
            self.passed(name, content)
        self.stream_ended(name, "complete")

    def signalled(self, number: int) -> None:
        """The agent sends it a signal."""
        self._emit(
            lambda at, wall: ProcessSignalled(
                at=at, wall=wall, component="agent", process_id=self.number, signal=number
            )
        )

    def ended(self, status: int) -> None:
        """How it ended; negative for a signal."""
        self._emit(
            lambda at, wall: ProcessEnded(
                at=at,
                wall=wall,
                component="agent",
                process_id=self.number,
                status=status if status >= 0 else 128 - status,
                signal=max(-status, 0),
            )
        )
        self._recorder.wrote_outside(self.number, self._said.named)
        self._recorder.child_ended(self.number)

    def outlived(self) -> None:
        """It went on after the run, or nobody asked how it ended."""
        self._emit(
            lambda at, wall: ProcessEnded(
                at=at, wall=wall, process_id=self.number, status=0, unknown=True
            )
        )

    def _announce(self, pid: int, why: str) -> None:
        said = self._said
        self._recorder.programs[said.child] = said.argv[0] if said.argv else ""
        self._recorder.emit(
            lambda at, wall: ProcessStarted(
                at=at,
                wall=wall,
                component="agent",
                process_id=said.child,
                argv=said.argv,
                cwd=said.cwd,
                pid=pid,
                parent_process_id=said.parent,
                shell=said.shell,
                streams=said.streams,
                failed=why,
            )
        )
        self._started = True

    def _emit(self, make: Callable[[int, int], Event]) -> None:
        if self._failed:
            return
        if self._started:
            self._recorder.emit(make)
        else:
            self._waiting.append(make)
