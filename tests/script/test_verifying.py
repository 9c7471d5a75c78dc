"""Each state of a tape is what its script and its answers make it, or is named."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rerail.script import Script, repeatable
from rerail.script.engine import Session
from rerail.script.verifying import same_state, verify_states
from rerail.tape.reader import Tape
from rerail.tape.records import Event
from rerail.tape.script_records import ScriptAnswered, ScriptPaused, ScriptResumed, ScriptStarted
from rerail.tape.writer import TapeWriter
from tests.script.conftest import AGENT, GIVEN
from tests.script.test_proof import forged, kept

TOOLS = {
    "think": repeatable(lambda call: {"content": f"{call.arguments['turn']} NO"}),
    "check": lambda call: {"errors": 0},
}


@pytest.fixture
def run_tape(tmp_path: Path) -> Path:
    Script.start("import random\nrandom.random()\n" + AGENT, tape=tmp_path / "run.tape",
                 tools=TOOLS, inputs=GIVEN)  # fmt: skip
    return tmp_path / "run.tape"


def test_all_states_are_made_again(run_tape: Path) -> None:
    with Tape.open(run_tape) as tape:
        verified = verify_states(tape)
    assert verified.well
    assert verified.same == 4


def test_those_of_a_fork_too(run_tape: Path, tmp_path: Path) -> None:
    fork = Script.fork(run_tape, 3, output=tmp_path / "fork.tape", tools=TOOLS)
    fork.answer(fork.pending.token, {"content": "other"}, limit=5)
    with Tape.open(fork.tape) as tape:
        verified = verify_states(tape)
    assert (verified.well, verified.same) == (True, 4)


def test_those_of_a_parked_and_resumed_one(tmp_path: Path) -> None:
    with Script.start(AGENT, tape=tmp_path / "run.tape", inputs=GIVEN) as run:
        run.answer(run.pending.token, {"content": "0"})
    Script.resume(run.tape, tools=TOOLS)
    with Tape.open(run.tape) as tape:
        assert verify_states(tape).same == 4


def test_a_strangers_state_that_was_changed_is_named_and_never_loaded(
    run_tape: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptPaused) and event.pause == 3:
            with Tape.open(run_tape) as tape:
                state = tape.blob(event.state.digest).replace(b"1 NO", b"1 OK")
            return replace(event, state=kept(writer, state))
        return event

    def load(self: Session, state: bytes) -> object:
        raise AssertionError("nothing is loaded")

    monkeypatch.setattr(Session, "load", load)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "me"))
    with Tape.open(forged(run_tape, tmp_path / "forged.tape", change)) as tape:
        verified = verify_states(tape)
    assert not verified.well
    assert verified.differing == (3,)


def test_another_answer_leads_another_way(run_tape: Path, tmp_path: Path) -> None:
    def lie(event: Event, writer: TapeWriter) -> Event:
        if isinstance(event, ScriptAnswered) and event.pause == 1:
            return replace(event, answer=kept(writer, b'{"content":"lie"}'))
        return event

    with Tape.open(forged(run_tape, tmp_path / "forged.tape", lie)) as tape:
        assert "it is not at pause 2" in verify_states(tape).diverged


def test_states_of_another_version_are_not_compared(run_tape: Path, tmp_path: Path) -> None:
    def older(event: Event, writer: TapeWriter) -> Event:
        known = isinstance(event, ScriptStarted | ScriptResumed)
        return replace(event, engine="pydantic-monty 1.3.0") if known else event

    with Tape.open(forged(run_tape, tmp_path / "forged.tape", older)) as tape:
        verified = verify_states(tape)
    assert (verified.well, verified.same, verified.uncompared) == (True, 0, 4)
    assert verified.other_engine == "pydantic-monty 1.3.0"


def test_a_run_of_another_version_goes_on_from_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerail.script.durable.engine_name", lambda: "pydantic-monty 1.3.0")
    with Script.start(AGENT, tape=tmp_path / "run.tape", inputs=GIVEN) as run:
        run.answer(run.pending.token, {"content": "0"})
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def load(self: Session, state: bytes) -> object:
        raise AssertionError("a state of another version is not loaded")

    monkeypatch.setattr(Session, "load", load)
    again = Script.resume(run.tape, trust="script")
    with Tape.open(run.tape) as tape:
        [resumed] = [event for event in tape.events() if isinstance(event, ScriptResumed)]
    assert resumed.how == "answers"
    again.close()


def test_what_is_no_state_is_not_the_same() -> None:
    assert not same_state(b"MONTY\0\0\x0e\xff", b"MONTY\0\0\x0e\xff")
    assert not same_state(b"MONTY\0\0\x0e" + b"\x81" * 100_000, b"MONTY\0\0\x0e\x00")
