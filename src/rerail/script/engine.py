"""The only module that talks to Monty: scripts in workers, their pauses, their states as bytes.

A pool of worker processes, started when first needed, serves all scripts of this process. Knows no
tape. Monty does not authenticate a state: whoever calls `load` has checked the bytes before.
"""

import atexit
import os
import sys
import sysconfig
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rerail.errors import UserError
from rerail.script.limits import Limits
from rerail.script.prelude import PRELUDE
from rerail.script.values import NotJson, encoded
from rerail.tape.script_records import Printed

if TYPE_CHECKING:
    import pydantic_monty as monty

WORKERS: Final = 32
"""Scripts that may execute or hold a call of a tool at once; more wait for a worker."""

PRINTED_AT_MOST: Final = 1 << 20
"""Characters that are kept of what a script prints between two pauses."""

_CUT: Final = "\n(more was printed, and is not kept)\n"
_PATIENCE_SECONDS: Final = 60.0
_ENTROPY: Final = 1 << 16
_POLICY: Final[Any] = {
    "datetime": "call_host",
    "timezone": "utc",
    "sleep": "call_host",
    "random_start": "call_host",
}
_SLEEPS: Final = frozenset(("time.sleep", "asyncio.sleep"))
_CLOCKS: Final = frozenset(("time.time", "datetime.now", "date.today"))
_SCRIPT: Final = "<python-input-1>"
SLEEP: Final = "time.sleep"
"""The tool that a sleeping script calls."""

INSTALL: Final = "pip install '.[script]', in a checkout of rerail"


class EngineMissing(UserError):
    """The engine for scripts is not installed."""


class EngineBusy(UserError):
    """All workers are taken."""


class ScriptCrashed(UserError):
    """The worker that ran a script died; the last saved state is on the tape."""


class NotSaved(UserError):
    """The engine cannot save the state of a script: it is too large for the script's limits."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The script waits: for a tool, or for what the host knows (the clock, entropy).

    `call` is the engine's number of the call, `line` that of the script. `arguments` is a dict for
    a tool; for the clock the time zone, for entropy a number of bytes.
    """

    kind: Literal["tool", "host"]
    name: str
    arguments: Any
    call: int
    line: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The script is over: with the value of its last line, or an error, as a person reads it."""

    output: object = None
    error: str = ""


@dataclass(slots=True)
class Session:
    """One script in one worker. `printed` is what it printed since someone took it."""

    source: bytes
    name: str
    printed: list[tuple[Printed, str]] = field(default_factory=list)
    _printed: int = 0
    _held: ExitStack = field(default_factory=ExitStack)
    _session: Any = None
    _snapshot: Any = None
    _asked: Asked | None = None

    @classmethod
    def open(cls, code: str, name: str, limits: Limits) -> "Session":
        """Take a worker. Raises EngineMissing, EngineBusy."""
        session = cls(code.encode(), name)
        bounds: Any = limits.for_engine()
        checkout = _pool().checkout(script_name=name, limits=bounds, os_policy=_POLICY)
        try:
            session._session = session._held.enter_context(checkout)
        except TimeoutError as error:
            what = f"all {WORKERS} workers for scripts are taken"
            raise EngineBusy(what, hint="end or park a run first") from error
        return session

    @property
    def asked(self) -> Asked:
        """What it waits for."""
        assert self._asked is not None
        return self._asked

    def close(self) -> None:
        """Give the worker back. A state that was not dumped is gone."""
        self._held.close()
        self._session = self._snapshot = None

    def start(self, inputs: dict[str, Any]) -> Asked | Ended:
        """Run from the first line to the first pause."""
        self._session.feed_run(PRELUDE)
        code = self.source.decode()
        return self._go(
            lambda: self._session.feed_start(code, inputs=inputs, print_callback=self._print)
        )

    def load(self, state: bytes) -> Asked:
        """Take up a state whose bytes have been checked. Raises ScriptCrashed."""
        asked = self._go(lambda: self._session.load_snapshot(state, print_callback=self._print))
        if isinstance(asked, Ended):
            what = "a saved state cannot be loaded"
            raise ScriptCrashed(f"{what}: {asked.error}", hint="run it again from its answers")
        return asked

    def dump(self) -> bytes:
        """The whole state at this pause. Raises NotSaved, ScriptCrashed."""
        import pydantic_monty as monty

        try:
            state = self._snapshot.dump()
        except monty.MontyCrashedError as error:
            raise _crashed(error) from error
        except monty.MontyRuntimeError as error:
            what = f"the state at line {self.asked.line} cannot be saved: {error}"
            raise NotSaved(what, hint="keep less in the script, or give it more memory") from error
        assert isinstance(state, bytes)
        return state

    def tell(self, value: object) -> Asked | Ended:
        """Answer the pause, and run to the next."""
        return self._resume({"return_value": value})

    def tell_host(self, value: float | bytes) -> Asked | Ended:
        """Answer a question for the clock or for entropy."""
        return self.tell(_as_asked_for(self.asked, value))

    def fail(self, kind: str, message: str) -> Asked | Ended:
        """Raise an error where the script waits; a kind that it cannot know is `RuntimeError`."""
        known = kind if kind in _kinds() else "RuntimeError"
        text = message if known == kind else f"{kind}: {message}"
        return self._resume({"exc_type": known, "message": text})

    def _resume(self, result: dict[str, Any]) -> Asked | Ended:
        return self._go(lambda: self._snapshot.resume(result))

    def _go(self, act: Callable[[], Any]) -> Asked | Ended:
        """Run to the next pause that is somebody else's matter."""
        monty = _monty()
        try:
            self._snapshot = act()
            while not isinstance(self._snapshot, monty.MontyComplete):
                asked = self._look(self._snapshot)
                if asked is not None:
                    self._asked = asked
                    return asked
            return _ended(self._snapshot.output)
        except monty.MontyCrashedError as error:
            raise _crashed(error) from error
        except (monty.MontyRuntimeError, monty.MontySyntaxError) as error:
            return Ended(error=error.display().replace(_SCRIPT, self.name))

    def _look(self, snapshot: Any) -> Asked | None:
        """What the script asks; None where it was told here, and went on."""
        monty = _monty()
        if isinstance(snapshot, monty.NameLookupSnapshot):
            self._snapshot = snapshot.resume()
            return None
        assert isinstance(snapshot, monty.FunctionSnapshot)
        line = self.source[: snapshot.position.start].count(b"\n") + 1
        name, args = str(snapshot.function_name), snapshot.args
        if snapshot.is_os_function:
            asked = _asked_of_host(name, args, snapshot.call_id, line)
            if asked is None:
                self._snapshot = snapshot.resume_not_handled()
            return asked
        if name != "tool":
            text = f"name '{name}' is not defined: a tool is called with tool('{name}', …)"
            self._snapshot = snapshot.resume({"exc_type": "NameError", "message": text})
            return None
        try:
            tool, arguments = _tool_call(args, snapshot.kwargs)
        except (TypeError, NotJson) as error:
            refusal: Any = {"exc_type": "TypeError", "message": str(error)}
            self._snapshot = snapshot.resume(refusal)
            return None
        return Asked("tool", tool, arguments, snapshot.call_id, line)

    def _print(self, stream: Printed, text: str) -> None:
        room = PRINTED_AT_MOST - self._printed
        self._printed += len(text)
        if room >= 0:
            self.printed.append((stream, text[:room] + (_CUT if len(text) > room else "")))

    def take_printed(self) -> list[tuple[Printed, str]]:
        """What it printed since this was last asked."""
        printed, self.printed, self._printed = self.printed, [], 0
        return printed


def _crashed(error: Exception) -> ScriptCrashed:
    hint = "resume the tape: it goes on from the last pause"
    return ScriptCrashed(f"the worker of a script died ({error})", hint=hint)


def type_errors(code: str, name: str, stubs: str) -> str:
    """What the engine's type checker says, one line each.

    A text in which it finds nothing begins to run, up to its first call: within the sandbox, and
    for a thousandth of a second at most.
    """
    monty = _monty()
    with _pool().checkout(
        script_name=name,
        type_check=True,
        type_check_stubs=stubs,
        type_check_format="concise",
        limits={"max_turn_duration_secs": 0.001, "max_memory": 1 << 24},
    ) as session:
        try:
            session.feed_start(code)
        except monty.MontyTypingError as error:
            return str(error.display())
        except monty.MontyError:
            pass
    return ""


def engine_name() -> str:
    """The engine and its version, as it stands on a tape."""
    return f"pydantic-monty {_monty().__version__}"


def _tool_call(args: tuple[Any, ...], more: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """`tool(name, arguments, **more)`."""
    if not 1 <= len(args) <= 2 or not isinstance(args[0], str):
        raise TypeError("tool() takes a name and a dict of arguments")
    given = args[1] if len(args) == 2 and args[1] is not None else {}
    if not isinstance(given, dict):
        raise TypeError("the arguments of tool() are a dict")
    arguments = {**given, **more}
    encoded(arguments, name="arguments")
    return args[0], arguments


def _asked_of_host(name: str, args: tuple[Any, ...], call: int, line: int) -> Asked | None:
    if name in _SLEEPS:
        return Asked("tool", SLEEP, {"seconds": float(args[0])}, call, line)
    if name == "os.urandom":
        return Asked("host", name, min(int(args[0]), _ENTROPY), call, line)
    if name in _CLOCKS:
        return Asked("host", name, args[0] if args else None, call, line)
    return None


def _as_asked_for(asked: Asked, value: float | bytes) -> object:
    """A time as the script wants it: seconds, or a date and time in its zone."""
    if isinstance(value, bytes) or asked.name == "time.time":
        return value
    zone = asked.arguments if isinstance(asked.arguments, tzinfo) else UTC
    moment = datetime.fromtimestamp(value, zone)
    if asked.name == "date.today":
        return moment.date()
    return moment if isinstance(asked.arguments, tzinfo) else moment.replace(tzinfo=None)


def _ended(output: object) -> Ended:
    try:
        encoded(output, name="the last line")
    except NotJson as error:
        return Ended(error=f"the value of the script's last line cannot be kept: {error.what}")
    return Ended(output)


def _kinds() -> frozenset[str]:
    from typing import get_args

    return frozenset(get_args(_monty().ExcType))


# The pool.

_guard = threading.Lock()
_pools: dict[int, "monty.Monty"] = {}


def _pool() -> "monty.Monty":
    """This process's own: a child that was forked off has none of its parent's workers."""
    with _guard:
        pool = _pools.get(os.getpid())
        if pool is None:
            pool = _monty().Monty(
                binary_path=_worker(),
                min_processes=1,
                max_processes=WORKERS,
                checkout_timeout=_PATIENCE_SECONDS,
            )
            pool.__enter__()
            _pools[os.getpid()] = pool
            atexit.register(_close, os.getpid())
        return pool


def _close(pid: int) -> None:
    if pid == os.getpid():
        with _guard:
            pool = _pools.pop(pid, None)
        if pool is not None:
            pool.__exit__(None, None, None)


def _monty() -> Any:
    try:
        import pydantic_monty
    except ImportError as error:
        what = "the engine for scripts is not installed"
        raise EngineMissing(what, hint=INSTALL) from error
    return pydantic_monty


def _worker() -> Path:
    """The engine's program, from this Python's own environment: not whatever a path leads to."""
    folders = (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent)
    for folder in folders:
        if (folder / "monty").is_file():
            return folder / "monty"
    what = f"the engine's program `monty` is not in {folders[0]}"
    raise EngineMissing(
        what, hint="pip install --force-reinstall '.[script]', in a checkout of rerail"
    )
