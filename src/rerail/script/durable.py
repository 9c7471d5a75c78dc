"""Durable scripts: started, forked and resumed from their tapes. What the rest of the room is for.

A state is loaded only after the tape's seals, the state's digest and its witness were checked.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypedDict, Unpack

from rerail.errors import NothingRecorded, RerailError, TapeBusy, TapeEnded
from rerail.holds import Hold, gone_past
from rerail.script.engine import Session, engine_name
from rerail.script.history import HistoryDigest
from rerail.script.keeping import Keeping, own_key
from rerail.script.limits import Limits
from rerail.script.pause import Pause
from rerail.script.proof import Signer, check_seals, script_key
from rerail.script.recorded import Recorded, pause_of, read_script
from rerail.script.replay import ScriptDiverged, expect, replay
from rerail.script.run import Run, result_of
from rerail.script.tools import Tools, names_of_repeatable
from rerail.script.values import encoded
from rerail.script.verifying import same_state
from rerail.tape.reader import Tape
from rerail.tape.records import Body, Parent
from rerail.tape.script_records import How, ScriptEnded, ScriptStarted
from rerail.tape.storage import keep_source

Trust = Literal["", "script", "states"]

_NOTHING: Final = Body(digest=b"", size=0)
Sleep = Callable[[float], None]


class ForkOptions(TypedDict, total=False):
    """What `Saved.fork` takes beside the pause and the new tape."""

    tools: Tools | None
    run_id: str
    how: How | None
    verify: bool
    capture: Mapping[str, str] | None
    facts: Mapping[str, str] | None
    overwrite: bool
    despite_hold: str
    sleep: Sleep
    stay_open: bool


class Script:
    """Where a durable script's run comes from: its text, or a tape."""

    @staticmethod
    def start(
        code: str,
        *,
        tape: Path,
        tools: Tools | None = None,
        inputs: Mapping[str, Any] | None = None,
        name: str = "script.py",
        limits: Limits | None = None,
        run_id: str = "",
        task_id: str = "",
        capture: Mapping[str, str] | None = None,
        facts: Mapping[str, str] | None = None,
        overwrite: bool = False,
        despite_hold: str = "",
        sleep: Sleep = time.sleep,
        stay_open: bool = False,
    ) -> Run:
        """Run a script to its end, or to the first call of a tool that is not given.

        Args:
            code: The script's text. It calls tools as `tool(name, {…})`.
            tape: Where its tape is made; one on which nothing has been recorded yet is replaced,
                since its host died at once.
            tools: What it may call, by name; a call of another waits to be answered by token.
            inputs: Names that are set before its first line, to JSON values.
            limits: What it may take.
            capture, facts: Further words for the tape's first event.
            despite_hold: Why to go on though the task is held on this machine; put on the tape.
            sleep: How a sleeping script waits.
            stay_open: The tape is ended by `close`, not by the script's end.

        Raises:
            TaskHeld: A hold stands on the task (`rerail runs`), and `despite_hold` says nothing.
            TapeExists, TapeBusy, TapeWriteFailed: The tape cannot be made, or written.
            EngineMissing, EngineBusy, ScriptCrashed: The script cannot be run.

        An error of the script itself is in `run.error`.
        """
        engine = engine_name()
        limits, given = limits or Limits(), dict(inputs or {})
        tools = {} if tools is None else tools
        encoded(given, name="inputs")  # It says now what cannot be kept.
        holds = _holds_met(run_id, task_id, despite_hold)
        keeping = Keeping.create(
            tape,
            code=code,
            run_id=run_id,
            task_id=task_id,
            capture=capture,
            facts=facts,
            overwrite=overwrite or _is_empty(tape),
        )
        run = Run(
            keeping, code, name=name, limits=limits, tools=tools, sleep=sleep, stay_open=stay_open
        )
        keeping.met(holds, despite_hold)
        keeping.started(_started(name, engine, limits, tools), code, given)
        run.begin(lambda session: session.start(given))
        return run

    @staticmethod
    def open(tape: Path, *, trust: Trust = "") -> "Saved":
        """Open a script's tape, to look at its pauses or to fork it many times."""
        return Saved(tape, trust=trust)

    @staticmethod
    def fork(
        tape: Path, pause: int, *, output: Path, trust: Trust = "", **options: Unpack[ForkOptions]
    ) -> Run:
        """Copy a run as it was at a pause onto a tape of its own; see `Saved.fork`."""
        with Saved(tape, trust=trust) as saved:
            return saved.fork(pause, output=output, **options)

    @staticmethod
    def resume(
        tape: Path,
        *,
        tools: Tools | None = None,
        trust: Trust = "",
        how: How | None = None,
        verify: bool = False,
        despite_hold: str = "",
        sleep: Sleep = time.sleep,
        stay_open: bool = False,
    ) -> Run:
        """Go on with a run whose host parked it or died, on the same tape.

        A saved answer is used. A call without one may have run: it is made again if its tool is
        `repeatable`, else the run waits (`run.pending.may_have_run`). Of a script that had ended
        before its host died, only the tape is ended.

        Args:
            how: From the last `state`, or by running the script again from its `answers`. By
                default from the state where the engine is the one that saved it.
            verify: Do both and compare, before the state is loaded.
            despite_hold: Why to go on though the task is held on this machine; put on the tape.
            trust: For the tape of somebody else: `script` runs it again from its answers, with
                your tools; `states` loads its states as they are.

        Raises:
            NotOurs: The tape is not yours, or was changed, and `trust` was not given.
            TapeAltered: Its bytes do not agree with each other.
            TapeEnded: The run is over. TapeBusy: somebody is running it.
        """
        with Saved(tape, trust=trust) as saved:
            return saved.resume(
                tools=tools,
                how=how,
                verify=verify,
                despite_hold=despite_hold,
                sleep=sleep,
                stay_open=stay_open,
            )


class Saved:
    """A script's tape, opened and checked. Nothing of it is loaded before `fork` or `resume`."""

    def __init__(self, path: Path, *, trust: Trust = "") -> None:
        self._tape = Tape.open(path)
        try:
            self._root, self._events = check_seals(self._tape)
            self.recorded: Recorded = read_script(self._tape)
        except BaseException:
            self._tape.close()
            raise
        self._trust = trust
        code, run_id = self.recorded.started.code.digest, self.recorded.run.run_id
        self._signer = Signer(script_key(own_key()), run_id, code)

    @property
    def pauses(self) -> list[Pause]:
        """All pauses on this tape."""
        return self.recorded.pauses

    def result(self) -> Any:
        """The value of the last line of a script that has ended, as `Run.result` gives it.

        Raises ScriptFailed; UsageProblem where it has not ended; NotOurs.
        """
        ended = self.recorded.ended
        if not self._trust:
            self._signer.check_script(self.recorded.started)
        return result_of(self._tape.path, self.recorded.output, ended.error if ended else None)

    def close(self) -> None:
        """Give the tape up."""
        self._tape.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def fork(
        self,
        pause: int,
        *,
        output: Path,
        tools: Tools | None = None,
        run_id: str = "",
        how: How | None = None,
        verify: bool = False,
        capture: Mapping[str, str] | None = None,
        facts: Mapping[str, str] | None = None,
        overwrite: bool = False,
        despite_hold: str = "",
        sleep: Sleep = time.sleep,
        stay_open: bool = False,
    ) -> Run:
        """A run of its own, on a tape of its own, that waits at this pause.

        Answer it with the pause's token, or let its tool be called anew with `go_on`. The parent's
        tape is not changed.

        Raises:
            NotOnTape: There is no such pause. TapeExists: `output` is there, or the parent.
            And what `Script.resume` raises.
        """
        keep_source(self._tape.path, output)
        recorded = self.recorded
        holds = self._holds_met(despite_hold)
        waiting, arguments = self._waiting_again(pause)
        state = self._state(pause, self._how(pause, how), verify=verify)
        keeping = Keeping.create(
            output,
            code=recorded.code,
            run_id=run_id,
            task_id=recorded.run.task_id,
            parent=Parent(tape_id=self._root, step=pause, relation="fork"),
            capture=capture,
            facts=facts,
            overwrite=overwrite,
        )
        run = self._run(keeping, tools, sleep=sleep, stay_open=stay_open)
        keeping.met(holds, despite_hold)
        begun = _started(recorded.started.name, engine_name(), self._limits, tools or {})
        keeping.started(begun, recorded.code, recorded.inputs)
        history = recorded.history_before(pause)
        keeping.forked(recorded.run.run_id, pause, self._events, history)
        run.wait_at(waiting, arguments, state)
        return run

    def resume(
        self,
        *,
        tools: Tools | None = None,
        how: How | None = None,
        verify: bool = False,
        despite_hold: str = "",
        sleep: Sleep = time.sleep,
        stay_open: bool = False,
    ) -> Run:
        """Go on with this run, on this tape; see `Script.resume`."""
        recorded = self.recorded
        self._must_be_left()
        if recorded.ended is not None:
            return self._finish(recorded.ended, stay_open=stay_open)
        holds = self._holds_met(despite_hold)
        last = recorded.pauses[-1] if recorded.pauses else None
        how = self._how(last.number, how) if last else "answers"
        state = self._state(last.number if last else 0, how, verify=verify)
        keeping = Keeping.reopen(self._tape.path, recorded)
        keeping.met(holds, despite_hold)
        keeping.resumed(last.number if last else 0, how, engine_name())
        keeping.hold()
        run = self._run(keeping, tools, sleep=sleep, stay_open=stay_open)
        if last is None:
            inputs = recorded.inputs
            run.begin(lambda session: session.start(inputs))
        else:
            after = recorded.told[recorded.told_by[last.number] :]
            answer = after[0] if last.answer is not None else None
            run.take_up(recorded.pauses, state, answer, recorded.asked)
        return run

    def _finish(self, ended: ScriptEnded, *, stay_open: bool) -> Run:
        """The script was over when its host died: what is missing is the end of its tape."""
        recorded = self.recorded
        if not self._trust:
            self._signer.check_script(recorded.started)
        keeping = Keeping.reopen(self._tape.path, recorded)
        run = self._run(keeping, None, stay_open=stay_open)
        run.take_up_ended(recorded.pauses, recorded.output, ended.error)
        return run

    @property
    def _limits(self) -> Limits:
        return Limits.recorded(self.recorded.started.limits)

    def _run(
        self, keeping: Keeping, tools: Tools | None, *, sleep: Sleep = time.sleep, stay_open: bool
    ) -> Run:
        """The recorded script, to be run on this tape."""
        return Run(
            keeping,
            self.recorded.code,
            name=self.recorded.started.name,
            limits=self._limits,
            tools={} if tools is None else tools,
            sleep=sleep,
            stay_open=stay_open,
        )

    def _must_be_left(self) -> None:
        """Raises TapeBusy where somebody runs it, TapeEnded where nothing is left to run."""
        path = self._tape.path
        if self._tape.state == "live":
            hint = "wait until it has ended, or fork it"
            raise TapeBusy(f"somebody is running the script of {path}", hint=hint)
        if self._tape.ended is not None:
            hint = "fork it from one of its pauses"
            raise TapeEnded(f"the script of {path} has ended", hint=hint)

    def _waiting_again(self, number: int) -> tuple[Pause, bytes]:
        """A pause as if its tool had never been called, and what that is asked.

        Raises NotOnTape.
        """
        self.recorded.pause(number)
        event = self.recorded.events[number]
        arguments = self._tape.blob(event.arguments.digest)
        again = pause_of(event, lambda: arguments)
        again.attempts = 0
        return again, arguments

    def _how(self, number: int, how: How | None) -> How:
        if self._trust == "script":
            return "answers"
        same = self.recorded.engines[number] == engine_name()
        return how or ("state" if same else "answers")

    def _holds_met(self, despite: str) -> list[Hold]:
        run = self.recorded.run
        return _holds_met(run.run_id, run.task_id, despite)

    def _check(self, number: int) -> None:
        """It must be ours: the script, the state, all that led there, and its answer."""
        recorded = self.recorded
        self._signer.check_script(recorded.started)
        if not number:
            return
        told = HistoryDigest(recorded.history_before(number)).digest()
        self._signer.check_pause(recorded.events[number], told)
        if number in recorded.answers:
            self._signer.check_answer(recorded.answers[number])

    def _state(self, number: int, how: How, *, verify: bool) -> bytes:
        """The state of a pause, checked; or worked out anew; or both, and compared."""
        if not self._trust:
            self._check(number)
        if not number:
            return b""
        if how == "answers":
            return self._made_anew(number)
        state = self._tape.blob(self.recorded.events[number].state.digest)
        if verify and not same_state(state, self._made_anew(number)):
            what = f"the state of pause {number} is not what the script and its answers make it"
            raise ScriptDiverged(what, hint='how="answers" takes what they make')
        return state

    def _made_anew(self, number: int) -> bytes:
        recorded = self.recorded
        session = Session.open(recorded.code, recorded.started.name, self._limits)
        try:
            asked = replay(session, recorded.inputs, recorded.history_before(number))
            expect(asked, recorded.pause(number))
            return session.dump()
        finally:
            session.close()


def _holds_met(run_id: str, task_id: str, despite: str) -> list[Hold]:
    hint = "go on with despite_hold=WHY, which is put on the tape"
    return gone_past(os.environ, run_id=run_id, task_id=task_id, despite=despite, hint=hint)


def _is_empty(tape: Path) -> bool:
    try:
        with Tape.open(tape):
            return False
    except NothingRecorded:
        return True
    except RerailError:
        return False


def _started(name: str, engine: str, limits: Limits, tools: Tools) -> ScriptStarted:
    return ScriptStarted(
        at=0,
        wall=0,
        name=name,
        code=_NOTHING,
        engine=engine,
        limits=limits.as_recorded(),
        tools=sorted(tools),
        repeatable=names_of_repeatable(tools),
    )
