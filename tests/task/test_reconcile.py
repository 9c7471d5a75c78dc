"""What an attempt did is found out from the target or a person; only what is known frees a task."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rerail.errors import UsageProblem
from rerail.holds import Approval, Attempt, Holds
from rerail.tape.plane_records import ActionReconciled, HoldReleased, TargetState
from rerail.tape.reader import Tape
from rerail.task.follow import FollowSettings
from rerail.task.reconcile import Reconciled, reconcile
from rerail.testing.plane_tapes import CONTRACT, PROPOSAL, PlaneTape

CREDENTIAL = "a-token-of-the-target-1234"
Reconcile = Callable[..., Reconciled]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its keys take a while to be made."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def environment(tmp_path: Path, authority: Path) -> dict[str, str]:
    places = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_DATA_HOME": str(authority)}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TOKEN": CREDENTIAL, **places}


@pytest.fixture
def attempt(tmp_path: Path, environment: dict[str, str]) -> Attempt:
    """An action that was sent, and of which nothing more is known."""
    made = PlaneTape.begin(tmp_path / "run.tape")
    made.agents_plane()
    made.check(failed=False)
    made.approve()
    made.act(None, after=None)
    common = {"run_id": "RUN-8894", "task_id": "TASK-1061", "tape": str(made.end("unresolved"))}
    scope = {"proposal": PROPOSAL.hex(), "target": "payments", **common}
    asked = Approval(id="A-1", summary="", expires=2, who="", **scope)
    sent = Attempt(id="T-1", folder=str(tmp_path), approval_id="A-1", begun=1, **scope)
    with Holds.open(environment) as holds:
        holds.ask(asked)
        holds.decide("A-1", grant=True, by="ada", how="command", reason="")
        holds.begin(sent, reason="it was sent", by="rerail run")
    return sent


@pytest.fixture
def asked(tmp_path: Path, attempt: Attempt, environment: dict[str, str]) -> Reconcile:
    """`asked("echo …")` reconciles by this command; without one, by what a person said."""

    def done(script: str = "", said: TargetState | None = None, **changes: Any) -> Reconciled:
        contract = tmp_path / "task.yaml"
        text = CONTRACT.decode().replace("[read]", "[echo, live]")
        if script:
            text += f"  reconcile: {{command: [sh, -c, {json.dumps(script)}]}}\n"
        contract.write_text(text + "  credential: {env: TOKEN}\n")
        settings = FollowSettings(
            Path(attempt.tape), tmp_path / "reconciled.tape", environment, contract
        )
        return reconcile(settings, replace(attempt, **changes), said=said, reason="I looked")

    return done


def standing(environment: dict[str, str]) -> bool:
    with Holds.open(environment) as holds:
        return bool(holds.on(task_id="TASK-1061"))


@pytest.mark.parametrize(
    ("script", "state", "held"),
    [
        ('echo \'{"state": "applied"}\'', "applied", False),
        ('echo \'{"state": "not applied"}\'', "not applied", False),
        ('echo \'{"state": "partly applied"}\'', "partly applied", True),
        ('echo \'{"state": "unknown"}\'', "unknown", True),
        ('echo \'{"state": "perhaps"}\'', "unknown", True),
        ("echo applied", "unknown", True),
        ('echo \'{"state": "applied"}\'; exit 1', "unknown", True),
        ("no-such-program", "unknown", True),
    ],
)
def test_only_a_clear_answer_frees_the_task(
    script: str, state: str, held: bool, asked: Reconcile, environment: dict[str, str]
) -> None:
    done = asked(script)
    assert (done.state, done.held, standing(environment)) == (state, held, held)
    with Tape.open(done.tape) as tape:
        events = list(tape.events())
    [found] = [event for event in events if isinstance(event, ActionReconciled)]
    assert (found.attempt_id, found.state, found.how) == ("T-1", state, "command")
    assert any(isinstance(event, HoldReleased) for event in events) is not held


def test_the_word_of_a_person_is_taken_with_its_reason(
    asked: Reconcile, environment: dict[str, str]
) -> None:
    done = asked(said="not applied")
    assert not standing(environment)
    with Tape.open(done.tape) as tape:
        [found] = [event for event in tape.events() if isinstance(event, ActionReconciled)]
    assert (found.state, found.how, found.reason) == ("not applied", "person", "I looked")


@pytest.mark.parametrize("said", [None, "not applied"])
def test_nobody_is_asked_while_it_still_runs(
    said: TargetState | None, asked: Reconcile, environment: dict[str, str]
) -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as action:
        with pytest.raises(UsageProblem, match="still under way"):
            asked('echo \'{"state": "applied"}\'', said=said, session=action.pid)
        action.communicate()
        assert standing(environment)
        assert not asked('echo \'{"state": "applied"}\'', said=said, session=action.pid).held


def test_an_action_whose_session_nobody_could_note_is_found_by_its_attempt(
    asked: Reconcile, environment: dict[str, str]
) -> None:
    """The runner was killed between starting the command and putting its session down."""
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    told = {**os.environ, "RERAIL_ATTEMPT_ID": "T-1"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True, env=told) as action:
        with pytest.raises(UsageProblem, match=f"still under way: process {action.pid}"):
            asked('echo \'{"state": "applied"}\'', session=0)
        action.communicate()
        assert standing(environment)
        assert not asked('echo \'{"state": "applied"}\'', session=0).held


def test_the_credential_stays_off_the_tape(asked: Reconcile) -> None:
    done = asked('echo "$TOKEN" >&2; echo \'{"state": "applied"}\'')
    assert CREDENTIAL.encode() not in done.tape.read_bytes()
    with Tape.open(done.tape) as tape:
        [found] = [event for event in tape.events() if isinstance(event, ActionReconciled)]
        assert found.errors is not None
        assert tape.blob(found.errors.digest).startswith("⟦redacted".encode())


def test_another_target_is_not_asked(asked: Reconcile, environment: dict[str, str]) -> None:
    with pytest.raises(UsageProblem, match="does not name the target `elsewhere`"):
        asked("echo", target="elsewhere")
    assert standing(environment)


def test_without_a_command_a_person_is_needed(
    asked: Reconcile, environment: dict[str, str]
) -> None:
    with pytest.raises(UsageProblem, match="names no command that reconciles"):
        asked()
    assert standing(environment)
