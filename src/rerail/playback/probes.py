"""What probes are told in a replay: what each process was handed, which turn it is, and the time.

Where a recorded value is not there, a probe goes by the page: time runs on from the end of the last
reply as recorded, and not past the next recorded model call.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Self

from rerail.clock import monotonic_ns, wall_ns
from rerail.compare.canon import Request
from rerail.errors import NotOnTape, TapeAltered
from rerail.launch.run_folder import REAL_CLOCK, ProbeSettings, RunFolder
from rerail.llm.calls import is_turn, model_call
from rerail.playback.script import Script
from rerail.probe.log import jobs_in, read_hello, read_missing, turn_line, turns_in
from rerail.tape.reader import Tape
from rerail.tape.records import ProbeLog

_SEED_SIZE: Final = 32


class Playhead:
    """The run folder of a replay, kept in step with the tape."""

    def __init__(self, script: Script, folder: RunFolder) -> None:
        self.folder = folder
        self.moved: Callable[[], None] = lambda: None
        self.jumped: Callable[[int, int], None] = lambda before, after: None
        self._ends = script.reply_ends()
        self._calls = script.model_requests()
        self._turns: dict[str, list[int]] = {}
        self._recorded: dict[int, list[int]] = {}
        self._told: dict[int, list[int]] = {}

    @classmethod
    def of(
        cls,
        script: Script,
        *,
        log: bool,
        path: Path | None = None,
        private: Iterable[Path] = (),
    ) -> Self | None:
        """Make the folder; None where the recording had no probes. `log`: for a tape of it.

        `path` is an empty folder that the command can reach, `private` are those of which it is to
        have a copy of its own.
        """
        tape = script.tape
        logs = recorded_logs(tape)
        if not logs and not tape.run.seed:
            return None
        settings = ProbeSettings(
            mode="replay",
            seed=tape.run.seed.hex(),
            log=log,
            clock=not tape.run.capture.get("clock", "no").startswith("no"),
            random=len(tape.run.seed) == _SEED_SIZE,
            children=not tape.run.capture.get("children", "no").startswith("no"),
            private=tuple(map(str, private)),
        )
        folder = RunFolder.make(settings, path=path)
        folder.give_back(logs)
        playhead = cls(script, folder)
        playhead._turns = {name: turns_in(log) for name, log in logs.items()}
        playhead._set_time(tape.run.wall, 0)
        return playhead

    def asked(self, request: Request) -> None:
        """A request is complete: where it is a model call, a new turn begins."""
        if request.method != "POST":
            return
        if model_call("POST", request.host.lower(), request.target, request.headers):
            self._begin(request.process_id)
            self.moved()

    def listener(self, request: Request) -> Callable[[bytes], None]:
        """What is to hear the texts of the agent on the WebSocket that a request opened."""
        call = model_call("GET", request.host.lower(), request.target, request.headers)

        def hear(message: bytes) -> None:
            if call is not None and is_turn(call.api, message):
                self._begin(request.process_id)

        return hear

    def _begin(self, process_id: int) -> None:
        """The turn of a process is what it was after as many calls in the recording."""
        recorded = self._recorded.get(process_id)
        if recorded is None:
            hello = read_hello(self.folder.first_line(process_id))
            recorded = self._turns.get(hello.name, []) if hello else []
            self._recorded[process_id] = recorded
        told = self._told.setdefault(process_id, [])
        known = recorded[len(told)] if len(told) < len(recorded) else None
        self.folder.turn_begins(process_id, known)
        told.append(self.folder.turn_of(process_id))

    def serving(self, exchange_id: int) -> None:
        """A recorded reply is about to be sent: it is as late as when that reply had come."""
        end = self._ends.get(exchange_id)
        if end is not None:
            seq, wall = end
            self._set_time(wall, seq)

    def went_live(self) -> None:
        """What follows never was on the tape, and signatures made now must be valid now."""
        page = self.folder.page
        if page.flags & REAL_CLOCK:
            return
        told = page.wall_base + monotonic_ns() - page.mono_base
        if page.wall_limit:
            told = min(told, page.wall_limit)
        page.flags |= REAL_CLOCK
        self.folder.publish()
        if self.folder.settings.clock and page.wall_base:
            self.jumped(told, wall_ns())

    def missed(self, keep: Callable[[int, bytes], None] | None) -> Iterator[str]:
        """What probes say they could not do; `keep` is given all that they wrote."""
        for number, lines in self.folder.news():
            if keep is not None:
                turns = map(turn_line, self._told.pop(number, ()))
                keep(number, b"".join([lines, *turns]))
            for line in lines.splitlines():
                if (missing := read_missing(line)) is not None:
                    what, detail = missing
                    yield f"{what}: {detail}" if detail else what

    def _set_time(self, wall: int, seq: int) -> None:
        page = self.folder.page
        following = bisect_right(self._calls, (seq, 0))
        next_call = self._calls[following][1] if following < len(self._calls) else 0
        page.wall_base = wall
        page.mono_base = monotonic_ns()
        page.wall_limit = next_call if next_call > wall else 0
        self.folder.publish()


def recorded_logs(tape: Tape) -> dict[str, bytes]:
    """What each process of the recording was handed, by its name; as far as it can be read."""
    pieces: dict[int, list[bytes]] = {}
    for event in tape.events():
        if isinstance(event, ProbeLog):
            try:
                pieces.setdefault(event.process_id, []).append(tape.blob(event.content))
            except (TapeAltered, NotOnTape):
                continue
    logs: dict[str, bytes] = {}
    for parts in pieces.values():
        hello = read_hello(parts[0].partition(b"\n")[0])
        if hello is not None and hello.name:
            log = logs[hello.name] = b"".join(parts)
            for job, lines in jobs_in(log, hello.name.encode()).items():
                logs[job] = logs.get(job, b"") + lines
    return logs
