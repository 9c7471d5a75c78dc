"""What probes tell a recording: their logs come onto the tape, and they are told which turn it is.

A turn is a model call whose request has wholly come, together with those that come before its reply
has ended: which of several is first is left to chance. The page moves on before a byte of the reply
can reach the agent, since both happen on the event loop, in this order.
"""

from collections.abc import Set
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from rerail.capture.recorder import Recorder
from rerail.launch.run_folder import RunFolder
from rerail.probe.log import Hello, hello_line, read_hello, read_missing, read_wrote, turn_line
from rerail.tape.records import CHILDREN_UNSEEN, ProbeLog, ProcessStarted

if TYPE_CHECKING:
    from rerail.capture.unheard import Unheard

COMMAND: Final = 1
FOLDER_GONE: Final = "clock, random and children from some moment on"
"""What `capture.missing` says of a run whose folder somebody cleared away."""

NEWS_NS: Final = 20_000_000
"""Between two looks at what the probes have written. No agent asks its model as often as that; what
comes in between is there at the next look."""


class Turns:
    """Counts the turns of a recording, and has what was written in each brought to the tape."""

    def __init__(self, recorder: Recorder, folder: RunFolder) -> None:
        self._logs = ProbeLogs(recorder)
        self._folder = folder
        self._missing = recorder.missing
        self._clock = recorder.clock
        self._looked = -NEWS_NS
        self._unheard: Unheard | None = None
        self._not_of_the_run: set[int] = set()
        self._under_way = recorder.under_way
        self._recorder = recorder
        self._talkers: set[int] = set()
        self._said_gone = False

    def disregard(self, pid: int) -> None:
        """This process is the recorder's own, and need not say hello."""
        self._not_of_the_run.add(pid)

    def begins(self, process_id: int) -> None:
        """A process has asked a model: a new turn, unless one is under way."""
        self._talkers.add(process_id)
        folder, turn = self._folder, self._folder.turn_of(process_id)
        # Nobody known is everybody: their turns are added to those of each process.
        same = process_id > 0 and self._under_way[process_id] > 0
        folder.turn_begins(process_id, turn if same else turn + 1)
        self._logs.turn(process_id, folder.turn_of(process_id))
        now = self._clock.at()
        if now - self._looked >= NEWS_NS:
            self._looked = now
            self.keep_news()
            self._look_around()

    def keep_news(self) -> None:
        """Bring what has been written since the last time onto the tape."""
        for number, lines in self._folder.news():
            self._logs.keep(number, lines)
        self._logs.keep_turns()
        if self._folder.is_gone and not self._said_gone:
            self._said_gone = True
            self._missing(FOLDER_GONE, f"{self._folder.path} was removed during the run", 0)

    def name_what_is_unseen(self) -> None:
        """At the end: who asked a model and has no probe may have started what nobody heard."""
        if not self._folder.settings.children:
            return
        for number in sorted(self._talkers - self._logs.heard - {0}):
            program = self._recorder.programs.get(number, "")
            self._missing(CHILDREN_UNSEEN, program.rpartition("/")[2], number)

    def _look_around(self) -> None:
        from rerail.capture.unheard import Unheard

        settings = self._folder.settings
        if settings.clock or settings.random:
            self._unheard = self._unheard or Unheard(self._missing)
            self._unheard.look(self._logs.numbers.keys() | self._not_of_the_run)


class ProbeLogs:
    """Brings the logs of a run's processes to its tape. `numbers` are theirs by pid."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.numbers: dict[int, int] = {}
        self._inside: dict[int, int] = {}
        self._turns: dict[int, bytes] = {}

    @property
    def heard(self) -> Set[int]:
        """Those that have said hello."""
        return self._inside.keys()

    def turn(self, number: int, turn: int) -> None:
        """A model call of a process has come: from there on it was this turn."""
        self._turns[number] = self._turns.get(number, b"") + turn_line(turn)

    def keep_turns(self) -> None:
        """Bring the turns of those that have said hello onto the tape."""
        for number in self._turns.keys() & self._inside.keys():
            self.keep(number, b"")

    def keep(self, number: int, lines: bytes) -> None:
        """Bring these lines of a process onto the tape."""
        recorder = self._recorder
        kept = [self._kept(number, line) for line in lines.splitlines(keepends=True)]
        if number in self._inside:
            kept.append(self._turns.pop(number, b""))
        content = recorder.redactor.body(b"".join(kept))
        if not content:
            return
        digest = recorder.writer.blob(content, lane=f"probe {number}")
        size, drawn = len(content), content.count(b"\nr\t") + content.startswith(b"r\t")
        recorder.emit(
            lambda at, wall: ProbeLog(
                at=at, wall=wall, process_id=number, content=digest, size=size, drawn=drawn
            )
        )

    def _kept(self, number: int, line: bytes) -> bytes:
        """A line as it is kept; what becomes an event of its own is not kept twice."""
        if line.startswith((b"t\t", b"r\t")):
            return line
        if (missing := read_missing(line)) is not None:
            self._recorder.missing(*missing, number)
            return b""
        if (path := read_wrote(line)) is not None:
            self._recorder.wrote(number, path)
            return b""
        if (hello := read_hello(line)) is not None:
            return hello_line(self._said_hello(number, hello))
        text = line.decode("utf-8", "surrogateescape")
        return self._recorder.redactor.text(text).encode("utf-8", "surrogateescape")

    def _parent(self, hello: Hello) -> int:
        """Who started a process: within a recorded child, that child where nobody nearer did."""
        parent = self.numbers.get(hello.ppid, 0)
        nearer = self._inside.get(parent, 0) == hello.inside
        return parent if nearer or not hello.inside else hello.inside

    def _said_hello(self, number: int, hello: Hello) -> Hello:
        redactor = self._recorder.redactor
        self.numbers[hello.pid] = number
        self._inside[number] = hello.inside
        if number != COMMAND:
            self._recorder.emit(
                lambda at, wall: ProcessStarted(
                    at=at,
                    wall=wall,
                    component="agent",
                    process_id=number,
                    argv=hello.argv,
                    cwd=hello.cwd,
                    pid=hello.pid,
                    parent_process_id=self._parent(hello),
                )
            )
        return replace(
            hello,
            argv=redactor.arguments(hello.argv),
            cwd=redactor.text(hello.cwd),
            executable=redactor.text(hello.executable),
        )
