"""The agent's plane: what it is given and told, what it cannot see, and what must be there."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import CommandNotFound
from rerail.sandbox import kernel, landlock
from rerail.sandbox.plane import Plane
from rerail.tape.plane_records import AgentContained, ScratchMade
from rerail.tape.reader import Tape
from rerail.task.account import Account
from rerail.task.agent_plane import Layout, NotContained, prepare
from rerail.task.contract import Contract
from rerail.task.place import Place

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "SERVICE_URL": "http://127.0.0.1/v1",
    "SERVICE_KEY": "sk-abcdefgh12345678",
    "UNNAMED": "nobody asked for it",
}
PARTS = {
    "agent": {"command": ["sh", "{folder}/agent.sh"], "environment": ["SERVICE_URL", "NOT_SET"]},
    "checker": {"command": ["sh", "{folder}/check.sh"], "version": "7"},
    "constraints": [{"id": "C1", "text": "change one file"}],
    "inputs": [{"name": "rules", "path": "rules.json", "version": "3"}],
    "target": {
        "name": "live",
        "apply": {"command": ["true"]},
        "read": {"command": ["true"]},
        "credential": {"file": "keys/live"},
    },
}
landlocked = pytest.mark.skipif(
    not kernel.is_linux() or not landlock.version(), reason="no Landlock on this machine"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The contract's folder."""
    folder = tmp_path / "task"
    (folder / "workspace" / "src").mkdir(parents=True)
    (folder / "workspace" / "src" / "a.py").write_text("one\n")
    (folder / "workspace" / "node_modules").mkdir()
    (folder / "rules.json").write_text('{"version": "3"}')
    return folder


@pytest.fixture
def layout(
    home: Path, tmp_path: Path, contract: Callable[..., Contract]
) -> Iterator[Callable[..., Layout]]:
    """`layout(agent={…})`: where things are, with these parts of the contract instead."""
    environment = {
        **ENVIRONMENT,
        "HOME": str(tmp_path / "user"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    place = Place(environment, "RUN-1")

    def made(**parts: Any) -> Layout:
        terms = contract(**{**PARTS, **parts})
        return Layout(terms, home, place, tmp_path / "runs" / "run.tape", environment)

    yield made
    place.remove(keep_workspace=False)


def test_an_agent_is_given_few_variables_those_that_are_named_and_a_home(
    layout: Callable[..., Layout],
) -> None:
    it = layout()
    given = it.given()
    assert set(given) == {"PATH", "LANG", "SERVICE_URL", "HOME", "TMPDIR"}
    assert Path(given["HOME"]).is_relative_to(it.place.agent)
    assert Path(given["TMPDIR"]).is_relative_to(it.place.agent)


def test_a_replay_needs_what_was_named_and_no_secret_is_kept(
    layout: Callable[..., Layout],
) -> None:
    it = layout(agent={"command": ["sh"], "environment": ["SERVICE_URL", "SERVICE_KEY"]})
    assert it.given()["SERVICE_KEY"] == ENVIRONMENT["SERVICE_KEY"]
    assert set(it.kept()) == {"SERVICE_URL", "RERAIL_TASK_FILE", "RERAIL_INPUTS"}


def test_neither_plane_reads_our_state_the_tape_or_what_opens_the_target(
    layout: Callable[..., Layout], tmp_path: Path, home: Path
) -> None:
    hidden = layout(approval={"policy": "policy.yaml"}).hidden()
    tape = tmp_path / "runs" / "run.tape"
    assert {
        tmp_path / "user",
        tmp_path / "state" / "rerail",
        tmp_path / "data" / "rerail",
        tape,
        Path(f"{tape}-wal"),
        home / "keys" / "live",
        home / "policy.yaml",
    } <= set(hidden)


def test_a_home_that_is_the_root_hides_not_everything(
    layout: Callable[..., Layout],
) -> None:
    it = layout()
    of_root = Layout(it.contract, it.home, it.place, it.tape, {**it.environment, "HOME": "/"})
    assert Path("/") not in of_root.hidden()


@pytest.mark.parametrize(
    "parts",
    [
        {"agent": {"command": ["no-such-program"]}},
        {"checker": {"command": ["no-such-program"]}},
        {"target": {**PARTS["target"], "read": {"command": ["no-such-program"]}}},
        {"target": {**PARTS["target"], "reconcile": {"command": ["no-such-program"]}}},
    ],
    ids=["agent", "checker", "read", "reconcile"],
)
def test_a_program_that_is_missing_is_said_before_an_agent_works_in_vain(
    layout: Callable[..., Layout], parts: dict[str, Any]
) -> None:
    layout().find_all()
    with pytest.raises(CommandNotFound, match="no-such-program"):
        layout(**parts).find_all()


def test_a_command_finds_the_contracts_folder(layout: Callable[..., Layout], home: Path) -> None:
    assert layout().argv == ["sh", f"{home}/agent.sh"]


@landlocked
def test_the_plane_is_made_ready_and_put_down(
    layout: Callable[..., Layout], account: Account, tmp_path: Path
) -> None:
    it, run_folder = layout(), tmp_path / "run"
    run_folder.mkdir()
    prepared = prepare(account, it, [run_folder], tmp_path / "channel")
    account.kept()
    assert (it.workspace / "src" / "a.py").read_text() == "one\n"
    assert not (it.workspace / "node_modules").exists()
    told = it.told()
    assert json.loads(Path(told["RERAIL_INPUTS"], "rules").read_text()) == {"version": "3"}
    task = Path(told["RERAIL_TASK_FILE"]).read_text()
    assert json.loads(task)["objective"] == "mend it"
    assert not [word for word in ("check.sh", "live", "cases.json") if word in task]
    with Tape.open(tmp_path / "account.tape") as tape:
        events = list(tape.events())
    (scratch,) = (event for event in events if isinstance(event, ScratchMade))
    assert (scratch.base, scratch.files, scratch.size) == (prepared.base.digest, 1, 4)
    (contained,) = (event for event in events if isinstance(event, AgentContained))
    assert contained.lacking == {}
    assert str(it.home) in contained.hidden
    assert str(run_folder) not in contained.writable


@landlocked
@pytest.mark.parametrize("target", [True, False])
def test_an_agent_that_cannot_be_kept_from_the_credential_is_not_started(
    target: bool,
    layout: Callable[..., Layout],
    account: Account,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Plane, "contained", False)
    it, needs = layout(**({} if target else {"target": None})), [tmp_path]
    if not target:  # nothing is in danger
        prepare(account, it, needs, tmp_path / "channel")
        return
    with pytest.raises(NotContained, match="cannot be kept from the target's credential"):
        prepare(account, it, needs, tmp_path / "channel")
    account.kept()
    with Tape.open(tmp_path / "account.tape") as tape:
        assert sum(isinstance(event, AgentContained) for event in tape.events()) == 1
