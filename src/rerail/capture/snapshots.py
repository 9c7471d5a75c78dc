"""Snapshots of folders while a command runs: one thread that reads, and who waits for it.

The thread is started beside the command, which does not wait for it. It reads while the model is
thinking; the reply to a model call is held back until its snapshot has been taken. A small folder
that is untouched needs no reading: the event loop sees that by itself, before it reads a reply.
Knows no connection.
"""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from rerail.capture.folders import Folders
from rerail.clock import thread_ns
from rerail.errors import TapeWriteFailed

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder
    from rerail.capture.watched import Watched
    from rerail.tape.records import SnapshotReason
    from rerail.workspace.seen import Seen

STEP_NS: Final = 400_000_000
"""Processor time of a step's snapshot at most: a run in a larger folder would feel it."""

SLOW_STEPS: Final = 3
"""So many in a row are too many; one may just have had much that was new."""

GATHERED_SECONDS: Final = 0.003
"""Where model calls come side by side, so long their steps are gathered: a model takes longer, and
reading for each call would be felt."""


class Snapshot:
    """A snapshot that was asked for; `taken` once the folders have been read.

    Waiting for it is safe from any thread.
    """

    def __init__(self, why: "SnapshotReason", exchange_id: int, process_id: int) -> None:
        self.why = why
        self.exchange_id = exchange_id
        self.process_id = process_id
        self.overdue = False
        self.taken = False
        self._guard = threading.Lock()
        self._then: list[Callable[[], None]] = []

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the folders have been read; False where that takes longer than `seconds`."""
        taken = threading.Event()
        self.then(taken.set)
        return taken.wait(seconds)

    def then(self, call: Callable[[], None]) -> None:
        """Call this, from the reading thread, once it is taken; at once where it is already."""
        with self._guard:
            if not self.taken:
                self._then.append(call)
                return
        call()

    def done(self) -> None:
        """The folders have been read, or cannot be."""
        with self._guard:
            self.taken = True
            waiting, self._then = self._then, []
        for call in waiting:
            call()


class Workspace:
    """The snapshots of one recording. All is called from one thread, which has the event loop.

    `soon` calls something before the loop reads again; asyncio's does where none is given.
    """

    def __init__(
        self,
        recorder: "Recorder",
        folders: Folders,
        soon: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self._recorder = recorder
        self._folders = folders
        self._soon = soon or _next_round
        self._asked: SimpleQueue[Snapshot | None] = SimpleQueue()
        self._reading = 0
        self._read = 0
        self._gathered: list[Snapshot] = []
        self._watched: list[Watched] | None = None
        self._next: Snapshot | None = None
        self._ending = threading.Event()
        self._began = 0
        self._slow = 0
        self._too_slow = False
        self._thread = threading.Thread(target=self._run, name="snapshots", daemon=True)

    @property
    def folders(self) -> "Sequence[Seen]":
        """Those that are read."""
        return self._folders.all

    def start(self, began: int) -> None:
        """Take the first snapshot; `began` is the file time just before the command begins."""
        self._began = began
        self._have_read(Snapshot("start", 0, 0))
        self._thread.start()

    def snapshot(
        self, why: "SnapshotReason", *, exchange_id: int = 0, process_id: int = 0
    ) -> Snapshot:
        """Ask for a snapshot, in the order of asking."""
        asked = Snapshot(why, exchange_id, process_id)
        if why == "step" and self._too_slow:
            asked.done()
        elif why == "step" and self._idle:
            self._gather(asked)
        else:
            self._look()
            self._have_read(asked)
        return asked

    def close(self) -> None:
        """Take the last snapshot and wait for it."""
        self._ending.set()
        self.snapshot("end")
        self._asked.put(None)
        self._thread.join()

    def _have_read(self, asked: Snapshot) -> None:
        self._reading += 1
        self._asked.put(asked)

    @property
    def _idle(self) -> bool:
        """Whether the thread has nothing to do, so that what it knows may be used here."""
        return self._watched is not None and self._read == self._reading

    def _gather(self, asked: Snapshot) -> None:
        """All steps that the loop hears of in one round are one moment."""
        self._gathered.append(asked)
        if len(self._gathered) == 1:
            self._soon(self._look)

    def _look(self) -> None:
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        if self._idle and all(folder.untouched() for folder in self._watched or ()):
            self._write(gathered)
            for asked in gathered:
                asked.done()
        else:
            for asked in gathered:
                self._have_read(asked)

    def _write(self, group: list[Snapshot]) -> None:
        why, process_id = group[0].why, group[0].process_id
        for overdue in (False, True):
            of = [asked.exchange_id for asked in group if asked.overdue == overdue]
            for folder in self._watched or () if of else ():
                folder.write(why, of, process_id=process_id, overdue=overdue)

    # From here on: the thread.

    def _run(self) -> None:
        while group := self._group():
            why = group[0].why
            try:
                if self._watched is None:
                    self._watched = self._folders_watched()
                before = thread_ns()
                for folder in self._watched:
                    folder.read(why)
                for asked in group:
                    asked.done()
                if why == "step":
                    self._took(thread_ns() - before)
                self._write(group)
                if self._watched and why == "start":
                    self._watched[0].packer.next_versions()
            except TapeWriteFailed:
                self._watched = []  # the recorder knows, and says so
            except Exception as error:  # the edge of the thread: nobody may wait for it in vain
                self._watched = []
                self._recorder.missing(
                    "snapshots have ended", f"{type(error).__name__}: {error}", 0
                )
            finally:
                for asked in group:
                    asked.done()
                self._read += len(group)

    def _group(self) -> list[Snapshot]:
        """What is asked for next; none at the end.

        Steps that wait behind each other are one: reading once after the last was asked is as good.
        """
        group: list[Snapshot] = []
        while not group or not self._asked.empty() or self._next is not None:
            asked, self._next = self._next or self._asked.get(), None
            if asked is None:
                self._asked.put(None)  # it ends the next group, too
                break
            if asked.why == "child" and not self._asked.empty():
                asked.done()  # the one behind it sees what this one would
                self._read += 1
            elif not group or asked.why == group[0].why == "step":
                group.append(asked)
                if asked.why != "step":
                    break
                if len(group) == 2:
                    self._ending.wait(GATHERED_SECONDS)
            else:
                self._next = asked
                break
        return group

    def _took(self, nanoseconds: int) -> None:
        """A folder that takes too long each time is read at its end again, and not before."""
        self._slow = self._slow + 1 if nanoseconds > STEP_NS else 0
        if self._slow == SLOW_STEPS:
            self._too_slow = True
            detail = (
                f"reading the folder takes {nanoseconds / 1e9:.1f} s: `--exclude` makes it less"
            )
            self._recorder.missing("there are no more snapshots at steps", detail, 0)

    def _folders_watched(self) -> "list[Watched]":
        """Loaded here: a command that is over at once has not waited for it."""
        from rerail.capture.watched import Watched
        from rerail.workspace.pack import Packer

        recorder, folders = self._recorder, self._folders
        packer = Packer(recorder.writer, recorder.redactor)
        return [Watched(recorder, packer, folders, seen, began=self._began) for seen in folders.all]


def _next_round(call: Callable[[], None]) -> None:
    from asyncio import get_running_loop  # it runs, so it is there

    get_running_loop().call_soon(call)
