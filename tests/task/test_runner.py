"""The runner: what starts nothing, what a run leaves on its tape, and when another one follows."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
import yaml

from rerail.errors import UsageProblem
from rerail.holds import Holds, TaskHeld
from rerail.sandbox import kernel, landlock
from rerail.tape.event import Event
from rerail.tape.plane_records import (
    CleanupDone,
    ProposalMade,
    RetryDecided,
    TaskAccepted,
    TaskEnded,
    TaskFollows,
    TaskState,
)
from rerail.tape.reader import Tape
from rerail.task.runner import EXIT, Done, RunSettings, read_contract, run_task

pytestmark = pytest.mark.skipif(
    not kernel.is_linux() or not landlock.version(), reason="no Landlock on this machine"
)

WORKS = "echo two > a.txt"
CHECK = "import json; print(json.dumps({'results': [{'name': 'a', 'outcome': 'passed'}]}))"
Run = Callable[..., Done]
Found = TypeVar("Found", bound=Event)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "user").mkdir()
    folders = {"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "HOME": "user"}
    return {"PATH": os.environ["PATH"]} | {
        name: str(tmp_path / folder) for name, folder in folders.items()
    }


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    """`run("sh script", retries=2)`: a task whose agent is this script of a shell, run."""
    home = tmp_path / "task"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "a.txt").write_text("one\n")
    (home / "cases.json").write_text('{"version": "1"}')

    def go(agent: str = WORKS, *, settings: Any = None, **parts: Any) -> Done:
        contract = {
            "task": "TASK-1",
            "version": "1",
            "objective": "mend it",
            "agent": {"command": ["sh", "-c", agent]},
            "workspace": "workspace",
            "checker": {"command": [sys.executable, "-c", CHECK]},
            "baseline": {"name": "cases", "version": "1", "path": "cases.json"},
        }
        path = home / "task.yaml"
        path.write_text(yaml.safe_dump({**contract, **parts}))
        given = {"run_id": "RUN-1", **(settings or {})}
        return run_task(
            RunSettings(contract=path, tape=home / "run.tape", environment=environment, **given)
        )

    return go


def events(tape: Path, kind: type[Found]) -> list[Found]:
    with Tape.open(tape) as opened:
        return [event for event in opened.events() if isinstance(event, kind)]


def test_a_run_is_on_its_tape_from_the_contract_to_the_cleanup(run: Run) -> None:
    done = run()
    assert (done.ended.state, done.verdict, done.status) == ("checked", "PASS", 0)
    (accepted,) = events(done.tape, TaskAccepted)
    assert (accepted.task_id, accepted.source, accepted.number) == ("TASK-1", "task.yaml", 1)
    (proposal,) = events(done.tape, ProposalMade)
    assert (proposal.changed, proposal.added) == (1, 0)
    assert done.proposal_ref == f"sha256:{proposal.proposal_ref.hex()}"
    (ended,) = events(done.tape, TaskEnded)
    assert ended.state == "checked"
    with Tape.open(done.tape) as tape:
        assert (tape.id, tape.run.run_id, tape.state) == (done.tape_id, "RUN-1", "finished")


def test_the_workspace_is_gone_unless_it_is_to_stay(run: Run) -> None:
    done = run()
    (cleanup,) = events(done.tape, CleanupDone)
    assert (cleanup.outcome, done.workspace) == ("removed", "")
    assert not Path(cleanup.folder).exists()
    kept = run(settings={"overwrite": True, "keep_workspace": True})
    assert Path(kept.workspace, "a.txt").read_text() == "two\n"
    assert [event.outcome for event in events(kept.tape, CleanupDone)] == ["kept"]


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (f"{WORKS}; exit 3", "the agent ended with status 3"),
        (f"{WORKS}; kill -TERM $$", "the agent was ended by signal 15"),
    ],
)
def test_an_agent_that_fails_is_stopped_whatever_it_proposes(
    run: Run, agent: str, reason: str
) -> None:
    done = run(agent)
    assert (done.ended.state, done.ended.reason, done.status) == ("stopped", reason, 1)
    assert done.verdict == "STOP"


def test_what_cannot_be_prepared_is_said_on_the_tape_and_no_agent_starts(
    run: Run, tmp_path: Path
) -> None:
    done = run(
        f"touch {tmp_path}/started",
        baseline={"name": "cases", "version": "2", "path": "cases.json"},
    )
    assert (done.ended.state, done.status) == ("not started", 2)
    assert done.problem is not None
    assert done.ended.reason == done.problem.what
    assert not events(done.tape, ProposalMade)
    assert not (tmp_path / "started").exists()


def test_a_held_task_starts_nothing(run: Run, environment: dict[str, str], tmp_path: Path) -> None:
    with Holds.open(environment) as holds:
        holds.place(run_id="RUN-0", task_id="TASK-1", reason="look first", by="somebody")
    with pytest.raises(TaskHeld, match="look first"):
        run()
    assert not list((tmp_path / "task").glob("*.tape"))


def test_a_target_that_nothing_opens_starts_nothing(run: Run, tmp_path: Path) -> None:
    target = {
        "name": "live",
        "apply": {"command": ["true"]},
        "read": {"command": ["true"]},
        "credential": {"env": "LIVE_TOKEN"},
    }
    with pytest.raises(UsageProblem, match="LIVE_TOKEN"):
        run(target=target)
    assert not list((tmp_path / "task").glob("*.tape"))


def test_a_contract_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"no-task\.yaml: No such file"):
        read_contract(tmp_path / "no-task.yaml")


def test_a_run_that_was_stopped_is_followed_by_as_many_as_the_contract_allows(
    run: Run, tmp_path: Path
) -> None:
    done = run("exit 1", retries=2)
    tapes = sorted((tmp_path / "task").glob("*.tape"))
    assert [tape.name for tape in tapes] == ["run-2.tape", "run-3.tape", "run.tape"]
    assert (done.tape.name, done.run_id) == ("run-3.tape", "RUN-1-3")
    second, third, first = tapes
    for before, tape in ((first, second), (second, third)):
        (follows,) = events(tape, TaskFollows)
        with Tape.open(before) as opened:
            assert (follows.tape_id, follows.run_id) == (opened.id, opened.run.run_id)
    decided = [events(tape, RetryDecided)[0] for tape in (first, second, third)]
    assert [(one.number, one.scheduled) for one in decided] == [(1, True), (2, True), (3, False)]
    assert decided[-1].reason == "there are no more retries"


def test_a_run_that_came_through_is_followed_by_none(run: Run, tmp_path: Path) -> None:
    done = run(retries=2)
    (decided,) = events(done.tape, RetryDecided)
    assert (decided.scheduled, decided.reason) == (False, "the run is checked")
    assert [tape.name for tape in (tmp_path / "task").glob("*.tape")] == ["run.tape"]


def test_a_retry_takes_the_next_name_that_is_free(run: Run, tmp_path: Path) -> None:
    (tmp_path / "task" / "run-2.tape").write_text("somebody's")
    assert run("exit 1", retries=1).tape.name == "run-3.tape"
    assert (tmp_path / "task" / "run-2.tape").read_text() == "somebody's"


def test_a_run_that_is_held_while_it_works_is_followed_by_none(
    run: Run, environment: dict[str, str]
) -> None:
    def heard(event: Event) -> None:
        if isinstance(event, ProposalMade):
            with Holds.open(environment) as holds:
                holds.place(run_id="RUN-1", task_id="TASK-1", reason="enough", by="somebody")

    done = run("exit 1", retries=5, settings={"log": heard})
    (decided,) = events(done.tape, RetryDecided)
    assert (decided.scheduled, decided.reason) == (False, "the task is held: enough")
    assert done.run_id == "RUN-1"


def test_every_end_has_its_status_and_only_a_good_one_is_zero() -> None:
    assert set(EXIT) == set(get_args(TaskState))
    assert {state for state, status in EXIT.items() if status == 0} == {"applied", "checked"}
    assert [state for state, status in EXIT.items() if status == 3] == ["unresolved"]
