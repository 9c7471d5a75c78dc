"""One run of a durable script, alive: drives it from pause to pause and keeps each on its tape.

The order is the point. At a pause the state is saved; then the tool is called; then its answer is
saved; then the script goes on. Whatever dies, whenever: a saved answer is used, and a call without
one may have run.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from rerail.clock import wall_ns
from rerail.errors import RerailError, TapeWriteFailed, UsageProblem, UserError
from rerail.script.engine import SLEEP, Asked, Ended, NotSaved, Session
from rerail.script.history import Told, encode_asked
from rerail.script.keeping import Keeping
from rerail.script.limits import Limits
from rerail.script.pause import Answer, Pause
from rerail.script.replay import tell
from rerail.script.tools import Call, Repeatable, Tool, Tools
from rerail.script.values import encoded
from rerail.tape.event import Body, Component

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder

_NANO: Final = 1_000_000_000
_TOKEN_BYTES: Final = 8
_WORKER_KEPT_SECONDS: Final = 1.0
"""A script that sleeps longer gives its worker back meanwhile."""

State = Literal["waiting", "ended", "failed"]


class ScriptFailed(UserError):
    """The script ended with an error of its own."""

    exit_code = 1


class WrongToken(UserError):
    """The token is of no pause of this run that waits for an answer."""


class MayHaveRun(UserError):
    """The tool of this pause may have run, and is not marked as safe to repeat."""


class Run:
    """A script and its tape. For one thread at a time; use it in a `with` block, or call `close`.

    `pauses` are all that this tape has. `output` is the value of the last line, `error` says how
    the script failed. `tape_id` is set once the tape is closed.
    """

    def __init__(
        self,
        keeping: Keeping,
        code: str,
        *,
        name: str,
        limits: Limits,
        tools: Tools,
        sleep: Callable[[float], None] = time.sleep,
        stay_open: bool = False,
    ) -> None:
        self.pauses: list[Pause] = []
        self.output: Any = None
        self.error = ""
        self.tape_id = ""
        self._keeping = keeping
        self._code = code
        self._name = name
        self._limits = limits
        self._tools = tools
        self._sleep = sleep
        self._stay_open = stay_open
        self._session: Session | None = None
        self._saved = b""
        self._asked = 0
        self._over = False
        self._closed = False

    @property
    def tape(self) -> Path:
        """Where its tape is."""
        return self._keeping.path

    @property
    def run_id(self) -> str:
        """The run's own name, on the tape's first event."""
        return self._keeping.run_id

    @property
    def recorder(self) -> "Recorder":
        """Puts further facts on the tape: an exchange that a tool makes, a check that ran."""
        return self._keeping.recorder

    @property
    def pending(self) -> Pause | None:
        """The pause at which the script waits for an answer."""
        over = self._over or self._closed or not self.pauses
        return self.pauses[-1] if not over and self.pauses[-1].waiting else None

    @property
    def state(self) -> State:
        """How it stands."""
        if not self._over:
            return "waiting"
        return "failed" if self.error else "ended"

    def result(self) -> Any:
        """The value of the script's last line. Raises ScriptFailed; UsageProblem while it waits."""
        over = self.error if self.state != "waiting" else None
        return result_of(self.tape, self.output, over)

    def answer(
        self,
        token: str,
        value: object,
        *,
        note: str | None = None,
        limit: int | None = None,
        by: Component = "runner",
    ) -> Self:
        """Answer a pause, and go on to the next that nobody here can answer.

        Args:
            token: The pause's.
            value: What the tool would have returned: a JSON value.
            note: Put beside it, for `heard` in the script: a hint that joins the history.
            limit: Put beside it, for `heard` in the script: a new number of turns.
            by: Who answers, for the tape.

        Raises:
            WrongToken: No pause of this run waits under that token.
            NotJson: The value cannot be kept; the pause goes on waiting.
        """
        pause = self._waiting_at(token)
        answer = encoded(_with(value, note=note, limit=limit), name="the answer")
        self._drive(lambda: self._answered(pause, answer, "", by))
        return self

    def fail(self, token: str, kind: str, message: str, *, by: Component = "runner") -> Self:
        """Raise an error (`kind`: a built-in one, such as `ValueError`) where the script waits."""
        pause = self._waiting_at(token)
        answer = encoded(message, name="the message")
        self._drive(lambda: self._answered(pause, answer, kind, by))
        return self

    def go_on(self, *, repeat: bool = False) -> Self:
        """Call the tool of the pause at which the script waits, and go on.

        Raises:
            UsageProblem: It does not wait, or there is no tool of that name.
            MayHaveRun: The tool may have run already, is not marked `repeatable`, and `repeat` was
                not given.
        """
        pause = self.pending
        tool = self._tool(pause.tool) if pause else None
        if pause is None or tool is None:
            what = f"there is no tool `{pause.tool}`" if pause else "the script does not wait"
            raise UsageProblem(what, hint="answer it by its token, or give the tool")
        if pause.may_have_run and not (repeat or isinstance(tool, Repeatable)):
            raise MayHaveRun(
                f"`{pause.tool}` may have run for pause {pause.number}, and its answer is lost",
                hint="see what it did and answer by token, or say repeat=True",
            )
        pause.attempts += 1
        self._keeping.called(pause)
        self._keeping.hold(synced=not isinstance(tool, Repeatable))
        self._drive(lambda: self._called(pause, tool))
        return self

    def close(self) -> None:
        """Give up the tape: finished, or parked at the pause where the script waits."""
        if self._closed:
            return
        self._closed = True
        self._let_go()
        if self._over:
            self._keeping.run_ended(well=not self.error)
        else:
            self._keeping.parked(self.pauses[-1].number if self.pauses else 0)
        self.tape_id = self._keeping.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # How it begins: `durable` calls one of these, once.

    def begin(self, start: Callable[[Session], Asked | Ended]) -> None:
        """From the first line on."""

        def act() -> Asked | Ended:
            self._session = self._open()
            return start(self._session)

        with self._parked_on_failure():
            self._drive(act)

    def take_up(self, pauses: list[Pause], state: bytes, answer: Told | None, asked: int) -> None:
        """From the last of these pauses on, which has been answered, or not.

        A call that may have run is made again only if its tool is marked repeatable.
        """
        self.pauses, self._saved, self._asked = pauses, state, asked
        last = pauses[-1]
        with self._parked_on_failure():
            if answer is not None:
                self._drive(lambda: self._told(answer))
            elif self._goes_on(last):
                self.go_on()

    def take_up_ended(self, pauses: list[Pause], output: Any, error: str) -> None:
        """After the script's end: its tape lacks no more than its own."""
        self.pauses, self.output, self.error, self._over = pauses, output, error, True
        if not self._stay_open:
            self.close()

    def wait_at(self, pause: Pause, arguments: bytes, state: bytes) -> None:
        """At a pause of another run. Nothing is waited for: what is lost can be forked again."""
        self.pauses, self._saved = [pause], state
        self._keeping.paused(pause, arguments, state, calls=False)

    @contextmanager
    def _parked_on_failure(self) -> Iterator[None]:
        """Nobody has this run yet: where it cannot be handed out, its tape is given up."""
        try:
            yield
        except BaseException:
            with suppress(TapeWriteFailed):
                self.close()
            raise

    def _goes_on(self, pause: Pause) -> bool:
        tool = self._tool(pause.tool)
        return tool is not None and (not pause.may_have_run or isinstance(tool, Repeatable))

    # From pause to pause.

    def _drive(self, act: Callable[[], Asked | Ended]) -> None:
        try:
            asked = act()
            while isinstance(asked, Asked):
                if asked.kind == "host":
                    asked = self._asked_of_host(asked)
                    continue
                pause = self._save(asked)
                tool = self._tool(asked.name)
                if isinstance(pause, Ended):
                    asked = pause
                    break
                if tool is None:
                    return self._let_go()
                asked = self._called(pause, tool)
            self._end(asked)
        except BaseException:
            self._let_go()
            raise

    def _save(self, asked: Asked) -> Pause | Ended:
        """The state first, on the disk. There are no more pauses than the limits allow."""
        session = self._session
        assert session is not None
        number = self.pauses[-1].number + 1 if self.pauses else 1
        if number > self._limits.pauses:
            return Ended(error=f"RuntimeError: more than {self._limits.pauses} pauses")
        tool = self._tool(asked.name)
        arguments = encoded(asked.arguments, name="arguments")
        pause = Pause(
            number=number,
            token=secrets.token_hex(_TOKEN_BYTES),
            tool=asked.name,
            line=asked.line,
            at=0,
            wall=0,
            call=asked.call,
            state=Body(digest=b"", size=0),
            arguments_digest=b"",
            _read=lambda: arguments,
            attempts=int(tool is not None),
        )
        try:
            self._saved = session.dump()
        except NotSaved as error:
            return Ended(error=f"MemoryError: {error.what}")
        self._keep_printed()
        self._keeping.paused(pause, arguments, self._saved, calls=tool is not None)
        self._keeping.hold(synced=not isinstance(tool, Repeatable))
        self.pauses.append(pause)
        return pause

    def _called(self, pause: Pause, tool: Tool) -> Asked | Ended:
        """The tool is called, its answer kept, and the script told."""
        key = f"{self.run_id}:{pause.number}:{pause.call}"
        call = Call(pause.tool, pause.arguments, key, pause.number, pause.attempts, self.recorder)
        try:
            value = tool(call)
        except RerailError:
            raise  # the host's own trouble, not the script's
        except Exception as error:
            answer = encoded(_message(error), name="the error")
            return self._answered(pause, answer, type(error).__name__, "tool")
        return self._answered(pause, encoded(value, name=f"what `{pause.tool}` gave"), "", "tool")

    def _answered(self, pause: Pause, answer: bytes, raised: str, by: Component) -> Asked | Ended:
        told = self._keeping.answered(pause, answer, raised, by)
        self._keeping.hold()
        pause.answer = Answer(raised, lambda: answer)
        return self._told(told)

    def _told(self, answer: Told) -> Asked | Ended:
        """Tell the script the answer that is kept, where it waits for it."""
        if self._session is None:
            self._session = self._open()
            self._session.load(self._saved)
        return tell(self._session, self._session.asked, answer)

    def _asked_of_host(self, asked: Asked) -> Asked | Ended:
        assert self._session is not None
        self._asked += 1
        if self._asked > self._limits.asked:
            return Ended(error=f"RuntimeError: more than {self._limits.asked} readings of the host")
        entropy = asked.name == "os.urandom"
        value = os.urandom(asked.arguments) if entropy else wall_ns() / _NANO
        last = self.pauses[-1].number if self.pauses else 0
        self._keeping.asked(last, asked.name, encode_asked(value))
        return self._session.tell_host(value)

    def _end(self, ended: Ended) -> None:
        self._keep_printed()
        self.output, self.error = ended.output, ended.error
        self._keeping.ended(ended)
        self._over = True
        self._let_go()
        if self._stay_open:
            self._keeping.hold()
        else:
            self.close()

    # Tools.

    def _tool(self, name: str) -> Tool | None:
        if name == SLEEP and SLEEP not in self._tools:
            return Repeatable(self._slept)
        return self._tools.get(name)

    def _slept(self, call: Call) -> None:
        """Sleep on to the moment that the pause named, which may be past after a crash."""
        pause = self.pauses[-1]
        left = pause.wall / _NANO + call.arguments["seconds"] - wall_ns() / _NANO
        if left > _WORKER_KEPT_SECONDS:
            self._let_go()
        if left > 0:
            self._sleep(left)

    # The worker.

    def _open(self) -> Session:
        return Session.open(self._code, self._name, self._limits)

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _keep_printed(self) -> None:
        if self._session is not None and self._session.printed:
            self._keeping.printed(self._session.take_printed())

    def _waiting_at(self, token: str) -> Pause:
        pending = self.pending
        if pending is not None and pending.token == token:
            return pending
        where = f"it waits at pause {pending.number}" if pending else "it does not wait"
        hint = "take it up again from its tape" if self._closed else "`pending.token` is the token"
        raise WrongToken(f"no pause of this run waits under that token: {where}", hint=hint)


def _message(error: Exception) -> str:
    """What a person would read; Python quotes that of a KeyError, and the engine does so again."""
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    return key if isinstance(key, str) else str(error)


def _with(value: object, *, note: str | None, limit: int | None) -> object:
    beside = {"note": note, "limit": limit}
    given = {name: it for name, it in beside.items() if it is not None}
    if not given:
        return value
    if not isinstance(value, dict):
        what = "a note or a limit is put beside the entries of an answer that is a dict"
        raise UsageProblem(what, hint='answer with a dict: {"content": …}')
    return {**value, **given}


def result_of(tape: Path, output: Any, error: str | None) -> Any:
    """What a script came to; `error` is None while it waits, and empty where it ended well.

    Raises ScriptFailed, UsageProblem.
    """
    if error is None:
        raise UsageProblem("the script has not ended", hint="answer the pause it waits at")
    if error:
        last = error.strip().rpartition("\n")[2]
        hint = f"`rerail show {tape}` has the whole traceback"
        raise ScriptFailed(f"the script failed: {last}", hint=hint)
    return output
