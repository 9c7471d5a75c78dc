"""Turns what passes through the proxy into events and bodies on a tape. Knows no socket.

Every call comes from the event loop after the bytes have gone on, so nothing here delays traffic.
Each record and each piece of a body goes through the redactor before the writer sees it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rerail.capture.exchange import ExchangeRecord
from rerail.clock import RunClock
from rerail.errors import TapeWriteFailed
from rerail.proxy.handler import Phase, Route
from rerail.redact.apply import Redactor
from rerail.tape.plane_records import HoldMet
from rerail.tape.records import (
    CaptureMissing,
    ConnectionFailed,
    Event,
    Framing,
    WorkspaceSnapshot,
)
from rerail.tape.writer import TapeWriter
from rerail.wire.http1 import Head

if TYPE_CHECKING:
    from rerail.capture.snapshots import Snapshot, Workspace
    from rerail.capture.switched import TunnelRecord
    from rerail.tape.records import SnapshotReason

BACKLOG_LIMIT: Final = 32 << 20
"""Bytes not yet on disk past which reading waits: a slow disk must not fill the memory."""


class Recorder:
    """The tap of a recording session: numbers exchanges, stamps times, writes events."""

    def __init__(
        self,
        writer: TapeWriter,
        redactor: Redactor,
        clock: RunClock,
        *,
        go_on_unrecorded: bool = False,
        log: Callable[[Event], None] | None = None,
    ) -> None:
        self.writer = writer
        self.redactor = redactor
        self.clock = clock
        self._go_on_unrecorded = go_on_unrecorded
        self._log = log
        self.asked: Callable[[int], None] | None = None
        self.programs: dict[int, str] = {}
        """Of each process that is known, what it was started as."""
        self.under_way: Counter[int] = Counter()
        """Of each process, how many model calls have been asked and not yet been answered."""
        self.exchanges = 0
        self.open: set[ExchangeRecord] = set()
        self.workspace: Workspace | None = None
        self.witnessed: Callable[[WorkspaceSnapshot], WorkspaceSnapshot] = lambda snapshot: snapshot
        """Gives a snapshot what its user will know it by; set once the run has its name."""
        self._reading: dict[int, Snapshot] = {}
        self._stamping = threading.Lock()

    @property
    def failed(self) -> TapeWriteFailed | None:
        """Why the tape can no longer be written, or None."""
        return self.writer.failed

    @property
    def refusal(self) -> str | None:
        failed = self.writer.failed
        if failed is None or self._go_on_unrecorded:
            return None
        return f"the recording failed and nothing may pass unrecorded: {failed.what}"

    @property
    def congested(self) -> bool:
        return self.writer.backlog > BACKLOG_LIMIT

    def emit(self, make: Callable[[int, int], Event], *, urgent: bool = False) -> int:
        """Stamp, clean and append an event; `make` is given (at, wall). Returns its number."""
        with self._stamping:  # numbers and times are in one order, from whatever thread they come
            at, wall = self.clock.now()
            record = self.redactor.record(make(at, wall))
            if self._log is not None:
                self._log(record.event)
            return self.writer.append(record, urgent=urgent)

    def step(self, exchange_id: int, connection_id: int, why: "SnapshotReason" = "step") -> None:
        """A model is asked: the workspace is looked at before the reply goes on."""
        if self.workspace is not None:
            self._reading[connection_id] = self.workspace.snapshot(why, exchange_id=exchange_id)

    def turn(self, process_id: int) -> None:
        """A turn of a process begins."""
        if self.asked is not None:
            self.asked(process_id)

    def may_answer(self, connection_id: int, then: Callable[[], None]) -> bool:
        """Whether the agent may have what comes from the origin now; else `then` is called once.

        `then` comes from another thread.
        """
        reading = self._reading.get(connection_id)
        if reading is None:
            return True
        if not reading.taken and not reading.overdue:
            reading.then(then)
            return False
        del self._reading[connection_id]
        return True

    def answer_anyway(self, connection_id: int) -> None:
        """The agent has waited long enough: its snapshot will not be one of this moment."""
        if reading := self._reading.get(connection_id):
            reading.overdue = True

    def exchange(self, route: Route, head: Head, framing: Framing) -> ExchangeRecord:
        self.exchanges += 1
        return ExchangeRecord(self, self.exchanges, route, head, framing)

    def tunnel(self, route: Route, why: str) -> "TunnelRecord":
        from rerail.capture.switched import TunnelRecord

        return TunnelRecord(self, route, why)

    def connection_failed(
        self, route: Route, phase: Phase, reason: str, error: str, shown: str = ""
    ) -> None:
        self.emit(
            lambda at, wall: ConnectionFailed(
                at=at,
                wall=wall,
                connection_id=route.connection_id,
                host=route.host,
                port=route.port,
                phase=phase,
                reason=reason,
                error=error,
                shown=shown,
                process_id=route.process_id,
            )
        )

    def child_ended(self, process_id: int) -> None:
        """The agent knows that a child has ended: what it changed is looked at."""
        if self.workspace is not None:
            self.workspace.snapshot("child", process_id=process_id)

    def missing(self, what: str, detail: str, process_id: int, files: Sequence[str] = ()) -> None:
        self.emit(
            lambda at, wall: CaptureMissing(
                at=at,
                wall=wall,
                what=what,
                detail=detail,
                process_id=process_id,
                files=list(files),
            )
        )

    def went_past(self, hold_id: str, reason: str, why: str) -> None:
        """Somebody goes on though the task is held, and says why."""
        self.emit(
            lambda at, wall: HoldMet(
                at=at,
                wall=wall,
                component="person",
                hold_id=hold_id,
                reason=reason,
                went_on=True,
                why=why,
            )
        )

    def wrote_outside(self, process_id: int, named: Mapping[str, str]) -> None:
        """A child has ended; `named` is how the paths stood that it was given, before it began."""
        from rerail.capture.outside import WHAT, changed

        if self.workspace is None:
            return
        if files := changed(named, self.workspace.folders):
            self.missing(WHAT, "", process_id, files)

    def wrote(self, process_id: int, path: str) -> None:
        """A process that is part of a child opened this path for writing."""
        from rerail.capture.outside import WHAT, is_there, outside

        if self.workspace is None or not is_there(path):
            return
        if outside([path], self.workspace.folders):
            self.missing(WHAT, "", process_id, [path])
