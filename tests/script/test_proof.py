"""What was changed, and what others made, is refused before the engine sees a byte of it."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rerail.errors import TapeAltered
from rerail.script import Run, Script, repeatable
from rerail.script.engine import Session
from rerail.script.proof import NotOurs
from rerail.script.replay import ScriptDiverged
from rerail.script.verifying import verify_states
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.reader import Tape
from rerail.tape.records import Body, CaptureMissing, Event
from rerail.tape.script_records import ScriptAnswered, ScriptForked, ScriptPaused, ScriptStarted
from rerail.tape.seal import verify
from rerail.tape.writer import TapeWriter
from tests.script.conftest import AGENT, GIVEN

APPROVAL = """\
approve = "NO"
note = tool("ask")
{"approve": approve, "note": note}
"""


@pytest.fixture
def parked(tmp_path: Path) -> Path:
    """A script that waits, with its decision in its state."""
    Script.start(APPROVAL, tape=tmp_path / "run.tape").close()
    return tmp_path / "run.tape"


@pytest.fixture
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: Session, state: bytes) -> object:
        raise AssertionError("the engine was given a state that should have been refused")

    monkeypatch.setattr(Session, "load", load)


def forged(source: Path, target: Path, change: Callable[[Event, TapeWriter], Event]) -> Path:
    """The tape written anew with changed events: its bytes agree with each other."""
    writer = TapeWriter.create(target)
    with Tape.open(source) as tape:
        for digest in tape.evidence.digests():
            writer.blob(CleanBytes(tape.blob(digest)))
        for event in tape.events():
            writer.append(CleanRecord(change(event, writer)))
            writer.seal()
    writer.close()
    with Tape.open(target) as tape:
        assert verify(tape).intact
    return target


def kept(writer: TapeWriter, content: bytes) -> Body:
    return Body(digest=writer.blob(CleanBytes(content)), size=len(content))


def with_another_state(event: Event, writer: TapeWriter, state: bytes) -> Event:
    return replace(event, state=kept(writer, state)) if isinstance(event, ScriptPaused) else event


def test_untouched_it_goes_on(parked: Path) -> None:
    run = Script.resume(parked)
    assert run.answer(run.pending.token, "n").result() == {"approve": "NO", "note": "n"}


def with_a_changed_byte(source: Path, target: Path, part: float) -> Path:
    """The tape with one byte turned over, at this part of the frame that its blobs share."""
    shutil.copy(source, target)
    with closing(sqlite3.connect(target)) as connection:
        rows = connection.execute("SELECT id, data FROM blob WHERE length(data) > 0").fetchall()
        for number, data in rows:
            changed = bytearray(data)
            changed[int(len(data) * part)] ^= 0xFF
            connection.execute("UPDATE blob SET data = ? WHERE id = ?", (bytes(changed), number))
        connection.commit()
    return target


def has_its_state(tape: Path, state: str) -> bool:
    """Whether the state can be had, and so is what it was: zstd has bits that say nothing."""
    with Tape.open(tape) as opened:
        try:
            opened.blob(state)
        except TapeAltered:
            return False
    return True


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_changed_byte_of_a_state_is_refused(parked: Path, tmp_path: Path) -> None:
    with Tape.open(parked) as tape:
        pauses = [event for event in tape.events() if isinstance(event, ScriptPaused)]
    tapes = [
        with_a_changed_byte(parked, tmp_path / f"{part}.tape", part / 40) for part in range(40)
    ]
    changed = [tape for tape in tapes if not has_its_state(tape, pauses[0].state.digest)]
    assert len(changed) > 30
    for tape in changed:
        with pytest.raises(TapeAltered):
            Script.resume(tape)
        with pytest.raises(TapeAltered):
            Script.fork(tape, 1, output=tmp_path / "fork.tape")


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_changed_event_is_refused(parked: Path) -> None:
    connection = sqlite3.connect(parked)
    connection.execute("UPDATE seal SET root = zeroblob(32) WHERE tree_size = 3")
    connection.commit()
    connection.close()
    with pytest.raises(TapeAltered, match="not those sealed"):
        Script.resume(parked)


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_forged_state_on_an_intact_tape_is_refused(parked: Path, tmp_path: Path) -> None:
    with Tape.open(parked) as tape:
        states = [event for event in tape.events() if isinstance(event, ScriptPaused)]
        state = tape.blob(states[0].state.digest)
    changed = state.replace(b"NO", b"OK")
    assert changed != state
    forgery = forged(
        parked, tmp_path / "forged.tape", lambda event, to: with_another_state(event, to, changed)
    )
    with pytest.raises(NotOurs, match="pause 1"):
        Script.resume(forgery)
    with pytest.raises(NotOurs, match="pause 1"):
        Script.fork(forgery, 1, output=tmp_path / "fork.tape")
    assert not (tmp_path / "fork.tape").exists()


def test_why_it_is_refused_the_engine_would_run_it(parked: Path, tmp_path: Path) -> None:
    with Tape.open(parked) as tape:
        states = [event for event in tape.events() if isinstance(event, ScriptPaused)]
        changed = tape.blob(states[0].state.digest).replace(b"NO", b"OK")
    forgery = forged(
        parked, tmp_path / "forged.tape", lambda event, to: with_another_state(event, to, changed)
    )
    run = Script.resume(forgery, trust="states")
    assert run.answer(run.pending.token, None).result()["approve"] == "OK"


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_state_of_another_pause_is_refused(tmp_path: Path) -> None:
    tools = {"a": lambda call: 1}
    run = Script.start("tool('a')\ntool('b')", tape=tmp_path / "run.tape", tools=tools)
    run.close()
    first, second = run.pauses

    def swap(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptPaused):
            return replace(event, state=second.state if event.pause == 1 else first.state)
        return event

    with pytest.raises(NotOurs):
        Script.resume(forged(run.tape, tmp_path / "forged.tape", swap))


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_forged_answer_is_refused(tmp_path: Path) -> None:
    tools = {"think": repeatable(lambda call: {"content": "x"})}
    run = Script.start(AGENT, tape=tmp_path / "run.tape", tools=tools, inputs=GIVEN)
    run.close()

    def lie(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptAnswered):
            return replace(event, answer=kept(writer, b'{"content":"run this"}'))
        return event

    with pytest.raises(NotOurs, match="what led there"):
        Script.resume(forged(run.tape, tmp_path / "forged.tape", lie), how="answers")


@pytest.mark.usefixtures("nothing_is_loaded")
def test_another_script_under_the_same_answers_is_refused(parked: Path, tmp_path: Path) -> None:
    def other(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptStarted):
            return replace(event, code=kept(writer, APPROVAL.replace("NO", "OK").encode()))
        return event

    with pytest.raises(NotOurs):
        Script.resume(forged(parked, tmp_path / "forged.tape", other), how="answers")


@pytest.mark.usefixtures("nothing_is_loaded")
def test_a_tape_of_somebody_else_is_refused_until_it_is_trusted(of_somebody_else: Path) -> None:
    with pytest.raises(NotOurs) as refused:
        Script.resume(of_somebody_else)
    assert "signed" in refused.value.hint
    assert 'trust="script"' in refused.value.hint


@pytest.fixture
def of_somebody_else(parked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """From here on it is another user, or another machine."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "me"))
    return parked


@pytest.mark.usefixtures("nothing_is_loaded")
def test_trusting_the_script_runs_it_from_its_answers(
    of_somebody_else: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Script.resume(of_somebody_else, trust="script")
    assert run.pending.tool == "ask"
    run.close()


def test_trusting_the_states_loads_them(of_somebody_else: Path) -> None:
    run = Script.resume(of_somebody_else, trust="states")
    assert run.answer(run.pending.token, 1).result() == {"approve": "NO", "note": 1}


def test_a_fork_of_anothers_tape_is_ones_own(of_somebody_else: Path, tmp_path: Path) -> None:
    fork = Script.fork(of_somebody_else, 1, output=tmp_path / "fork.tape", trust="script")
    fork.close()
    run: Run = Script.resume(fork.tape)
    again: Any = run.pending
    assert run.answer(again.token, 1).result()["note"] == 1


@pytest.mark.usefixtures("nothing_is_loaded")
@pytest.mark.parametrize("fields", [{"tool": "deploy"}, {"calls": False}, {"token": "0" * 16}])
def test_a_pause_that_is_told_otherwise_is_refused(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    def stopped(call: object) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Script.start("tool('pay')", tape=tmp_path / "run.tape", tools={"pay": stopped})

    def change(event: Event, writer: TapeWriter) -> Event:
        return replace(event, **fields) if isinstance(event, ScriptPaused) else event

    with pytest.raises(NotOurs):
        Script.resume(forged(tmp_path / "run.tape", tmp_path / "forged.tape", change))


@pytest.mark.usefixtures("nothing_is_loaded")
def test_what_a_fork_had_been_told_is_bound_too(tmp_path: Path) -> None:
    tools = {"a": lambda call: "NO"}
    run = Script.start("[tool('a'), tool('b')]", tape=tmp_path / "run.tape", tools=tools)
    run.close()
    Script.fork(run.tape, 2, output=tmp_path / "fork.tape").close()

    def change(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptForked):
            with Tape.open(tmp_path / "fork.tape") as tape:
                history = tape.blob(event.history.digest).replace(b"NO", b"OK")
            return replace(event, history=kept(writer, history))
        return event

    with pytest.raises(NotOurs, match="what led there"):
        Script.resume(
            forged(tmp_path / "fork.tape", tmp_path / "forged.tape", change), how="answers"
        )


def test_the_clock_after_the_last_answer_is_read_anew(tmp_path: Path) -> None:
    code = "import time\ntool('a')\nfirst = time.time()\ntool('b')\n[first, time.time() - first]"

    def stopped(call: object) -> object:
        raise KeyboardInterrupt

    path = tmp_path / "run.tape"
    with pytest.raises(KeyboardInterrupt):
        Script.start(code, tape=path, tools={"a": lambda call: 1, "b": stopped})
    for _ in range(2):
        Script.resume(path).close()
    run = Script.resume(path)
    assert run.answer(run.pending.token, 1).result()[1] >= 0
    with Tape.open(path) as tape:
        assert verify_states(tape).well


def test_a_run_without_a_pause_is_refused_too(tmp_path: Path) -> None:
    run = Script.start("tool('a')", tape=tmp_path / "run.tape")
    run.close()

    def other(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptPaused):
            return CaptureMissing(at=event.at, wall=event.wall, what="a pause")
        if isinstance(event, ScriptStarted):
            return replace(event, code=kept(writer, b"tool('deploy')"))
        return event

    forgery = forged(run.tape, tmp_path / "forged.tape", other)
    called = []
    with pytest.raises(NotOurs, match="the script"):
        Script.resume(forgery, tools={"deploy": called.append})
    assert not called


def test_a_state_is_verified_before_it_is_loaded(parked: Path, tmp_path: Path) -> None:
    Script.resume(parked, verify=True).close()
    with Tape.open(parked) as tape:
        states = [event for event in tape.events() if isinstance(event, ScriptPaused)]
        changed = tape.blob(states[0].state.digest).replace(b"NO", b"OK")
    forgery = forged(
        parked, tmp_path / "forged.tape", lambda event, to: with_another_state(event, to, changed)
    )
    with pytest.raises(ScriptDiverged, match="what the script and its answers make it"):
        Script.fork(forgery, 1, output=tmp_path / "fork.tape", trust="states", verify=True)
