"""Are the states on a tape what its script and its answers make of it? Loads none of them.

Each is made anew by running the script from what it was told, and compared. So a stranger's tape
can be looked at too: its script runs in the engine's sandbox, and calls nothing.
"""

from dataclasses import dataclass
from typing import Final

from rerail.script.engine import INSTALL, Asked, EngineMissing, Session, engine_name
from rerail.script.limits import Limits
from rerail.script.recorded import Recorded, read_script
from rerail.script.replay import ScriptDiverged, expect, tell
from rerail.tape.reader import Tape

_HEADER: Final = 8
"""Bytes before the CBOR of a state (RFC 8949): `MONTY`, a zero, and the number of the form."""

_COUNTERS: Final = frozenset(("total_execution_time", "feed_execution_time"))
"""How long the script has executed: nothing else differs between two runs told the same."""


@dataclass(slots=True)
class StatesVerified:
    """What came of it. `same` pauses have their state; `differing` others.

    `diverged` says where the script, told the same, went another way. `other_engine` names the
    engine that saved states which this one cannot compare.
    """

    same: int = 0
    differing: tuple[int, ...] = ()
    uncompared: int = 0
    other_engine: str = ""
    diverged: str = ""

    @property
    def well(self) -> bool:
        return not (self.differing or self.diverged)


def verify_states(tape: Tape) -> StatesVerified:
    """Run the script of an open tape again and compare. Raises NotOnTape, TapeAltered."""
    recorded = read_script(tape)
    verified = StatesVerified()
    session = Session.open(
        recorded.code, recorded.started.name, Limits.recorded(recorded.started.limits)
    )
    try:
        _follow(tape, recorded, session, verified)
    except ScriptDiverged as error:
        verified.diverged = error.what
    finally:
        session.close()
    return verified


def _follow(tape: Tape, recorded: Recorded, session: Session, verified: StatesVerified) -> None:
    asked = session.start(recorded.inputs)
    for one in recorded.inherited:
        asked = tell(session, asked, one)
    before = {recorded.told_by[pause.number]: pause for pause in recorded.pauses}
    for place in range(len(recorded.told) + 1):
        pause = before.get(place)
        if pause is not None:
            expect(asked, pause)
            if recorded.engines[pause.number] != engine_name():
                verified.uncompared += 1
                verified.other_engine = recorded.engines[pause.number]
            elif same_state(session.dump(), tape.blob(pause.state.digest)):
                verified.same += 1
            else:
                verified.differing = (*verified.differing, pause.number)
        if place < len(recorded.told):
            asked = tell(session, asked, recorded.told[place])
    if recorded.ended is not None and isinstance(asked, Asked):
        verified.diverged = f"it goes on at line {asked.line} where it had ended"


def same_state(one: bytes, other: bytes) -> bool:
    """Whether two states are the same but for counters; entries of maps stand in any order."""
    try:
        import cbor2
    except ImportError as error:
        what = "what compares states is not installed (cbor2)"
        raise EngineMissing(what, hint=INSTALL) from error
    try:
        values = [_without_counters(cbor2.loads(state[_HEADER:])) for state in (one, other)]
    except (cbor2.CBORError, ValueError, TypeError, RecursionError):
        return False  # a stranger's: no CBOR, or none that an engine would write
    return one[:_HEADER] == other[:_HEADER] and values[0] == values[1]


def _without_counters(value: object) -> object:
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in _COUNTERS}
        return {name: _without_counters(item) for name, item in kept.items()}
    if isinstance(value, list):
        return [_without_counters(item) for item in value]
    return value
