"""A script run again from what it was told: it comes to the same pause, without its saved state.

The portable way: for an engine of another version, for a state that one does not want to load, and
to check the states. Knows no tape.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from rerail.errors import UserError
from rerail.script.engine import Asked, Ended, Session
from rerail.script.history import Told, decode_asked
from rerail.script.pause import Pause
from rerail.script.values import decoded, encoded


class ScriptDiverged(UserError):
    """Told the same, the script did not ask the same."""

    exit_code = 1


def replay(session: Session, inputs: dict[str, Any], told: Iterable[Told]) -> Asked | Ended:
    """Run from the first line, and tell it the same: where it then waits. Raises ScriptDiverged."""
    asked = session.start(inputs)
    for one in told:
        asked = tell(session, asked, one)
    return asked


def tell(session: Session, asked: Asked | Ended, told: Told) -> Asked | Ended:
    """Tell the script the next thing, if that is what it asks. Raises ScriptDiverged."""
    if isinstance(asked, Ended):
        raise _diverged(f"it ended where it had asked for `{told.name}`", asked.error)
    if (asked.kind, asked.name) != (told.kind, told.name):
        raise _diverged(f"line {asked.line} asks for `{asked.name}`, not `{told.name}`")
    if told.kind == "host":
        return session.tell_host(decode_asked(told.value))
    if arguments_digest(asked) != told.arguments:
        raise _diverged(f"line {asked.line} asks `{asked.name}` for something else")
    if told.raised:
        return session.fail(told.raised, str(decoded(told.value)))
    return session.tell(decoded(told.value))


def expect(asked: Asked | Ended, pause: Pause) -> None:
    """It must wait at this pause now. Raises ScriptDiverged."""
    if isinstance(asked, Ended):
        raise _diverged(f"it ended before pause {pause.number}", asked.error)
    if asked.name != pause.tool or arguments_digest(asked) != pause.arguments_digest:
        raise _diverged(f"it is not at pause {pause.number} but at line {asked.line}")


def arguments_digest(asked: Asked) -> bytes:
    """The SHA-256 of what a tool is asked, as it stands on a tape."""
    return sha256(encoded(asked.arguments, name="arguments")).digest()


def _diverged(what: str, error: str = "") -> ScriptDiverged:
    last = error.strip().rpartition("\n")[2]
    said = f" ({last})" if last else ""
    return ScriptDiverged(
        f"told the same, the script went another way: {what}{said}",
        hint="load its state with the version of the engine that saved it",
    )
