"""A task run in two planes, end to end: what stands on its tape, and what cannot happen."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.launch.family import alive_in_session
from rerail.sandbox import kernel, landlock
from rerail.tape import plane_records as planes
from rerail.tape.reader import Tape
from rerail.tape.records import (
    CaptureMissing,
    HttpRequest,
    ProcessEnded,
    ProcessStarted,
    kind_of,
)
from tests.journeys.faults import FAULTS, Lab
from tests.journeys.faults.lab import TOKEN, events
from tests.journeys.terminal import Terminal

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(
        not kernel.is_linux() or not landlock.version(), reason="no Landlock on this machine"
    ),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "run-8894"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made


def kinds(tape: Path) -> list[str]:
    """The kinds of the planes' events, in order, and where the agent worked among them."""
    names = [kind_of(event) for event in events(tape)]
    wanted = {str(kind.__struct_config__.tag) for kind in planes.AnyPlaneEvent.__args__}
    return [name for name in names if name in wanted | {"http.request", "process.started"}]


# The document's own example.


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Callable[..., tuple[int, Path]]]:
    """`example()` runs the example as its page says, with its own simulated model."""
    folder = tmp_path / "run-8894"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "XDG_STATE_HOME": str(tmp_path / "home" / "state"),
        "XDG_DATA_HOME": str(tmp_path / "home" / "data"),
        "PAYMENT_DEPLOY_TOKEN": "a-token-for-the-example",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run(["cp", "-r", str(EXAMPLE), str(folder)], check=True)
    (tmp_path / "home").mkdir()
    models: list[subprocess.Popen[str]] = []

    def run(*model: str, settings: bool = True) -> tuple[int, Path]:
        if not settings:
            (folder / "checker.json").unlink()
        started = subprocess.Popen(
            [sys.executable, "model.py", *model],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        models.append(started)
        assert started.stdout is not None
        said = started.stdout.readline()
        assert said.startswith("simulated model: ")
        given = {**environment, "MODEL_URL": said.split()[-1]}
        words = ["run", "task.yaml", "--run", "RUN-8894", "-o", "run.tape", "--no-wait"]
        path = f"{Path(sys.executable).parent}:{environment['PATH']}"
        done = subprocess.run(
            [sys.executable, "-m", "rerail.cli", *words],
            cwd=folder,
            env={**given, "PATH": path},
            timeout=60,
            check=False,
        )
        return done.returncode, folder / "run.tape"

    yield run
    for model in models:
        model.terminate()
        model.communicate()


def test_run_8894_stops_on_a_check_that_went_by_the_wrong_baseline(
    example: Callable[..., tuple[int, Path]],
) -> None:
    status, tape = example()
    assert status == 1
    assert kinds(tape) == [
        "task.accepted", "baseline.loaded", "scratch.made", "observation.read", "agent.contained",
        "process.started", "http.request", "budget.changed", "proposal.made", "check.started",
        "check.ended", "baseline.loaded", "check.result", "check.result", "verdict.emitted",
        "cleanup.done", "task.ended",
    ]  # fmt: skip
    [accepted] = events(tape, planes.TaskAccepted)
    assert (accepted.task_id, accepted.version) == ("TASK-1061", "8")
    with Tape.open(tape) as opened:
        assert (opened.run.run_id, opened.run.task_id) == ("RUN-8894", "TASK-1061")
    loaded, reported = events(tape, planes.BaselineLoaded)
    assert (loaded.version, loaded.reported) == ("12", False)
    assert (reported.version, reported.wanted_version) == ("11", "12")
    assert reported.digest != reported.wanted_digest
    [verdict] = events(tape, planes.VerdictEmitted)
    assert (verdict.verdict, verdict.rule) == ("STOP", "case failed")
    assert verdict.detail == "protected timeout before send"
    assert not events(tape, planes.ApprovalRequested, planes.ActionAttempted)
    assert not (tape.parent / "live").exists()


def test_the_variant_a_proposal_against_a_policy_in_its_input(
    example: Callable[..., tuple[int, Path]],
) -> None:
    status, tape = example("--slip", settings=False)
    assert status == 1
    baselines = events(tape, planes.BaselineLoaded)
    assert [found.version for found in baselines] == ["12", "12"]
    failed = [case for case in events(tape, planes.CheckResult) if case.outcome == "failed"]
    assert [(case.name, case.tests) for case in failed] == [
        ("timeout after charge", "retry-policy")
    ]
    [given] = events(tape, planes.ObservationRead)
    assert given.name == "retry-policy"
    with Tape.open(tape) as opened:
        assert b"never retried" in opened.blob(given.content.digest)
        [request] = events(tape, HttpRequest)
        assert b"never retried" in opened.blob(request.body.digest)


# What the tape holds.


def test_everything_from_the_contract_to_the_target_is_on_one_tape(lab: Lab) -> None:
    made = FAULTS["applied by policy"].make(lab)
    assert kinds(made.tape) == [
        "task.accepted", "baseline.loaded", "scratch.made", "observation.read", "agent.contained",
        "process.started", "http.request", "budget.changed", "proposal.made", "check.started",
        "check.ended", "baseline.loaded", "check.result", "check.result", "verdict.emitted",
        "approval.requested", "approval.decided", "target.read", "approval.consumed",
        "hold.placed", "action.attempted", "action.result", "hold.released", "target.read",
        "cleanup.done", "task.ended",
    ]  # fmt: skip
    assert lab.applied() == [events(made.tape, planes.ActionAttempted)[0].attempt_id]
    before, after = events(made.tape, planes.TargetRead)
    with Tape.open(made.tape) as tape:
        assert json.loads(tape.blob(before.content.digest))["live"] is None
        assert "3" in json.loads(tape.blob(after.content.digest))["live"]


def test_the_credential_of_the_target_is_on_no_tape_and_in_no_agent(lab: Lab) -> None:
    lab.target("apply", "leaks")
    lab.agent("spy", "env:LAB_TOKEN", f"file:/proc/{os.getpid()}/environ")
    lab.policy("*")
    ran = lab.run()
    assert ran.outcome["state"] == "applied"
    for file in lab.folder.glob("*.tape*"):
        assert TOKEN.encode() not in file.read_bytes()
    with Tape.open(ran.tape) as tape:
        [result] = events(ran.tape, planes.ActionResult)
        assert tape.blob(result.output.digest).startswith("deployed with ⟦redacted".encode())
        for event in events(ran.tape):
            body = getattr(event, "content", None)
            if isinstance(body, bytes) and len(body) == 32:
                assert TOKEN.encode() not in tape.blob(body)


def test_the_agent_cannot_reach_what_is_not_its_own(lab: Lab) -> None:
    secret = lab.home / "secret"
    secret.write_text("a key of the user")
    lab.policy("retry.json")
    ran = lab.run()  # makes rerail's own files
    holds = lab.home / "state" / "rerail" / "holds.sqlite"
    assert holds.exists()
    places = [
        f"file:{secret}",
        f"file:{holds}",
        f"file:{lab.home / 'data' / 'rerail' / 'ca' / 'authority.pem'}",
        f"file:{lab.task / 'task.yaml'}",
        f"file:{lab.task / 'policy.yaml'}",
        f"file:{lab.task / 'cases-12.json'}",
        f"file:/proc/{os.getpid()}/environ",
        f"kill:{os.getpid()}",
        f"write:{lab.folder / 'made'}",
        "env:LAB_TOKEN",
    ]
    lab.agent("spy", *places)
    ran = lab.run("--keep-workspace")
    found = json.loads((Path(ran.outcome["workspace"]) / "found.json").read_text())
    assert found.pop("env:LAB_TOKEN") == ""
    assert all(said.startswith("refused") for said in found.values()), found
    assert len(found) == len(places) - 1


def test_a_checker_has_no_credential_either(lab: Lab) -> None:
    key = lab.task / "deploy.key"
    key.write_text(TOKEN)
    lab.contract["target"]["credential"] = {"file": "deploy.key"}
    lab.checker("spies", str(key))
    ran = lab.run()
    details = [case.detail for case in events(ran.tape, planes.CheckResult)]
    assert "refused: PermissionError, no token" in details


def test_what_an_agent_leaves_running_changes_nothing_any_more(lab: Lab) -> None:
    lab.agent("linger")
    del lab.contract["target"]
    ran = lab.run("--keep-workspace")
    assert ran.outcome["state"] == "checked"
    late = Path(ran.outcome["workspace"]) / "late"
    before = late.stat().st_mtime_ns if late.exists() else 0
    [missing] = events(ran.tape, CaptureMissing)
    assert "outlived" in missing.what
    pid = int(missing.detail.split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert (late.stat().st_mtime_ns if late.exists() else 0) == before


def test_what_a_checker_leaves_running_is_ended_and_named(lab: Lab) -> None:
    lab.checker("leaves")
    del lab.contract["target"]
    ran = lab.run()
    assert ran.outcome["state"] == "checked"
    [ended] = events(ran.tape, planes.CheckEnded)
    assert [words.split()[-1] for words in ended.left] == ["left"]


def test_a_link_out_of_the_workspace_is_no_proposal_that_passes(lab: Lab) -> None:
    secret = lab.home / "secret.json"
    secret.write_text("{}")  # the checker would read it as settings without a fault
    lab.agent("links", str(secret))
    lab.policy("*")
    ran = lab.run()
    assert (ran.outcome["verdict"], ran.outcome["rule"]) == ("STOP", "link leaves")
    assert ran.outcome["detail"] == "retry.json"
    refused = lab.run("--apply", str(ran.tape))
    assert (refused.status, lab.applied()) == (2, [])


# Unknown outcomes.


def test_a_time_out_is_no_failure_and_blocks_the_task_until_it_is_reconciled(lab: Lab) -> None:
    made = FAULTS["accepted, then silent"].make(lab)
    [ran] = made.ran
    assert (ran.status, ran.outcome["state"]) == (3, "unresolved")
    [result] = events(made.tape, planes.ActionResult)
    assert (result.outcome, result.timed_out) == ("unknown", True)
    assert len(lab.applied()) == 1

    refused = lab.run()
    assert refused.status == 2
    assert "is held on this machine" in refused.said
    assert "rerail reconcile T-" in refused.said
    assert not refused.tape.exists()

    attempt = lab.open_attempt()
    release = lab.rerail("runs", "release", lab.holds().on(task_id="TASK-LAB")[0].id, "--reason=x")
    assert release.returncode == 2
    assert "until it is known" in release.stderr

    found = lab.rerail("reconcile", attempt)
    assert found.returncode == 0, found.stderr
    assert "applied" in found.stdout
    tape = lab.folder / "run-1.reconcile-1.tape"
    assert kinds(tape) == ["task.follows", "target.read", "action.reconciled", "hold.released"]
    [follows] = events(tape, planes.TaskFollows)
    with Tape.open(made.tape) as first:
        assert (follows.run_id, follows.tape_id) == (first.run.run_id, first.id)
    lab.target("apply")
    assert lab.run().outcome["state"] == "applied"


def test_what_is_partly_applied_stays_held_until_a_person_says_more(lab: Lab) -> None:
    FAULTS["the target takes half of it"].make(lab)
    attempt = lab.open_attempt()
    found = lab.rerail("reconcile", attempt)
    assert found.returncode == 1
    assert "partly applied" in found.stdout
    assert lab.run().status == 2
    said = lab.rerail("reconcile", attempt, "--state", "not-applied", "--reason", "put back")
    assert said.returncode == 0, said.stderr
    [told] = events(lab.folder / "run-1.reconcile-2.tape", planes.ActionReconciled)
    assert (told.state, told.how, told.reason) == ("not applied", "person", "put back")
    lab.target("apply")
    assert lab.run().outcome["state"] == "applied"


def test_a_target_that_cannot_be_asked_leaves_the_task_held(lab: Lab) -> None:
    FAULTS["accepted, then silent"].make(lab)
    attempt = lab.open_attempt()
    lab.target("reconcile", "fails")
    lab.target("read", "fails")
    lab.write_contract()
    found = lab.rerail("reconcile", attempt, "--contract", "task/task.yaml")
    assert found.returncode == 1
    assert "unknown" in found.stdout
    [read] = events(lab.folder / "run-1.reconcile-1.tape", planes.TargetRead)
    assert read.problem == "it ended with status 1"
    assert lab.run().status == 2


# Approvals.


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("the approval is used twice", "used"),
        ("the approval is for another proposal", "other proposal"),
        ("the approval is for another target", "other target"),
        ("the approval has expired", "expired"),
        ("nobody has approved it", "not granted"),
        ("the approval is refused", "not granted"),
    ],
)
def test_an_approval_holds_for_one_proposal_on_one_target_once(
    name: str, why: str, lab: Lab
) -> None:
    made = FAULTS[name].make(lab)
    [unusable] = events(made.tapes[-1], planes.ApprovalUnusable)
    assert unusable.why == why
    assert not events(made.tapes[-1], planes.ActionAttempted)
    assert len(lab.applied()) == (1 if why == "used" else 0)


def test_a_pass_is_of_one_contract_and_nothing_is_applied_by_another(lab: Lab) -> None:
    asked = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval)
    before = json.dumps(lab.contract)
    lab.contract["version"] = "9"
    lab.target("apply", "half")
    for options in (["--approval", approval], []):
        refused = lab.run("--apply", str(asked.tape), *options)
        assert refused.status == 2
        assert "differs in version, target.apply.command" in refused.said
        assert not refused.tape.exists()
    checked = lab.run("--recheck", str(asked.tape))
    assert checked.outcome["verdict"] == "PASS"
    refused = lab.run("--apply", str(checked.tape), "--approval", approval)
    [unusable] = events(refused.tape, planes.ApprovalUnusable)
    assert unusable.why == "other contract"
    lab.contract = json.loads(before)
    baseline = lab.write_baseline(12, at_most=30)
    refused = lab.run("--apply", str(asked.tape), "--approval", approval)
    assert "its content is another" in refused.said
    assert (lab.applied(), len(lab.holds().approvals())) == ([], 1)
    assert baseline == lab.write_baseline(12, at_most=3)
    done = lab.run("--apply", str(asked.tape), "--approval", approval)
    assert done.outcome["state"] == "applied", done.said


def test_who_is_not_named_may_not_decide(lab: Lab) -> None:
    lab.contract["approval"]["by"] = ["somebody-else"]
    lab.run()
    refused = lab.rerail("approve", lab.waiting())
    assert refused.returncode == 2
    assert "may not decide" in refused.stderr


def test_a_person_elsewhere_grants_while_the_run_waits(lab: Lab) -> None:
    process, tape = lab.start()
    lab.wait_for(lambda: any(lab.holds().approvals()), "nothing is asked")
    assert lab.rerail("approve", lab.waiting()).returncode == 0
    assert process.wait(60) == 0
    [decided] = events(tape, planes.ApprovalDecided)
    assert (decided.decision, decided.how) == ("granted", "command")
    assert len(lab.applied()) == 1


def test_a_policy_grants_only_paths_it_names(lab: Lab) -> None:
    lab.policy("docs/*")
    assert lab.run().outcome["state"] == "waiting"
    lab.policy("retry.json")
    assert lab.run().outcome["state"] == "applied"


@pytest.mark.parametrize(
    ("typed", "state"), [(b"y", "applied"), (b"n", "refused"), (b"", "refused")]
)
def test_whoever_sits_at_the_terminal_is_asked(typed: bytes, state: str, lab: Lab) -> None:
    lab.write_contract()
    words = [sys.executable, "-m", "rerail.cli", "run", "task/task.yaml", "-o", "run.tape"]
    with Terminal(words, folder=lab.folder, environment=lab.environment) as terminal:
        terminal.until(b"apply it to client/live? [y/N] ")
        terminal.type(typed + b"\r")
        assert terminal.end() == (0 if state == "applied" else 1)
    [decided] = events(lab.folder / "run.tape", planes.ApprovalDecided)
    assert decided.how == "terminal"
    assert events(lab.folder / "run.tape", planes.TaskEnded)[0].state == state
    assert len(lab.applied()) == (1 if state == "applied" else 0)


def asked_at(lab: Lab) -> Terminal:
    """A run of the lab's task before a person."""
    lab.write_contract()
    words = ["run", "task/task.yaml", "-o", "run.tape", "--keep-workspace"]
    command = [sys.executable, "-m", "rerail.cli", *words]
    return Terminal(command, folder=lab.folder, environment=lab.environment)


def test_an_agent_cannot_answer_the_question_about_its_own_proposal(lab: Lab) -> None:
    lab.agent("types", "/dev/tty", "0", "1", "2")
    with asked_at(lab) as terminal:
        terminal.until(b"apply it to client/live? [y/N] ")
        terminal.type(b"n\r")
        assert terminal.end() == 1
    [made] = events(lab.folder / "run.tape", planes.ScratchMade)
    said = json.loads((Path(made.folder) / "typed.json").read_text())
    assert all(word.startswith("refused") for word in said), said
    assert not lab.applied()


def test_what_was_typed_before_the_question_is_no_answer(lab: Lab) -> None:
    with asked_at(lab) as terminal:
        terminal.type(b"y\ry\r")
        terminal.until(b"apply it to client/live? [y/N] ")
        terminal.type(b"n\r")
        assert terminal.end() == 1
    assert events(lab.folder / "run.tape", planes.TaskEnded)[0].state == "refused"
    assert not lab.applied()


def test_ctrl_c_still_reaches_the_agent(lab: Lab) -> None:
    lab.agent("sleep")
    with asked_at(lab) as terminal:
        terminal.until(b"wrote")
        terminal.type(b"\x03")
        assert terminal.end() == 1
    [ended] = events(lab.folder / "run.tape", ProcessEnded)
    assert ended.signal == signal.SIGINT or ended.status == 130


# Death of the runner.


def test_a_runner_killed_while_its_action_is_under_way_never_applies_twice(lab: Lab) -> None:
    made = FAULTS["the worker is killed while the action is under way"].make(lab)
    assert kinds(made.tape)[-1] == "action.attempted"
    assert len(lab.applied()) == 1
    again = lab.run()
    assert again.status == 2
    assert "is held" in again.said
    assert lab.rerail("reconcile", lab.open_attempt()).returncode == 0
    assert len(lab.applied()) == 1


MOMENTS = (
    planes.TaskAccepted, planes.BaselineLoaded, planes.AgentContained, ProcessStarted,
    planes.ProposalMade, planes.CheckEnded, planes.VerdictEmitted, planes.ApprovalDecided,
    planes.ApprovalConsumed, planes.ActionAttempted, planes.ActionResult, planes.CleanupDone,
)  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda kind: kind.__name__)
def test_kill_at_any_moment_loses_nothing_and_applies_at_most_once(moment: type, lab: Lab) -> None:
    from tests.journeys.faults.plane_faults import seen

    lab.policy("retry.json")
    process, tape = lab.start("--no-wait")
    lab.wait_for(
        lambda: process.poll() is not None or (tape.exists() and seen(tape, moment)), "no moment"
    )
    before = len(events(tape))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(events(tape)) >= before
    assert lab.rerail("verify", str(tape)).returncode == 0
    attempts = [event.attempt_id for event in events(tape, planes.ActionAttempted)]
    assert len(attempts) <= 1
    again = lab.run()
    done = len(lab.applied())
    if again.status == 2:
        assert "is held" in again.said
        assert done <= 1
        assert lab.rerail("reconcile", lab.open_attempt()).returncode == 0
        assert len(lab.applied()) == done
    else:
        settled = bool(events(tape, planes.ActionResult))
        assert done == (2 if settled else 1)


DIES = {
    "before the transaction": ("rerail.holds.Holds.begin", 0, False),
    "after the transaction": ("rerail.task.verdict_plane._Applying._say_begun", 0, True),
    "after it is said": ("rerail.task.verdict_plane._Applying._act", 0, True),
    "after the action": ("rerail.task.target.result", 1, True),
    "after the result": ("rerail.task.verdict_plane._Applying._settled", 1, True),
}
"""Where the runner dies: before this is called, how often it was applied by then, whether held."""


@pytest.mark.parametrize("where", DIES)
def test_wherever_a_runner_dies_around_its_action_it_is_applied_once(where: str, lab: Lab) -> None:
    """The table of decision 36, line by line."""
    place, applied, held = DIES[where]
    lab.policy("retry.json")
    lab.write_contract()
    holder, _, name = place.rpartition(".")
    script = (
        "import os, sys, pkgutil\nfrom rerail.cli.main import run\n"
        "import rerail.task.runner\n"
        "def dies(*_, **__): os.kill(os.getpid(), 9)\n"
        f"setattr(pkgutil.resolve_name({holder!r}), {name!r}, dies)\n"
        "run(['run', 'task/task.yaml', '-o', 'dead.tape', '--no-wait'])\n"
    )
    words = [sys.executable, "-c", script]
    died = subprocess.run(words, cwd=lab.folder, env=lab.environment, check=False, timeout=60)
    assert died.returncode == -9
    assert len(lab.applied()) == applied
    attempts = events(lab.folder / "dead.tape", planes.ActionAttempted)
    assert len(attempts) == (0 if "transaction" in where else 1)
    again = lab.run()
    if held:
        assert again.status == 2, again.outcome
        assert lab.rerail("reconcile", lab.open_attempt()).returncode == 0
        assert len(lab.applied()) == applied
    else:
        assert again.outcome["state"] == "applied"
        assert len(lab.applied()) == 1


def test_what_goes_wrong_once_the_action_runs_leaves_the_task_held(lab: Lab) -> None:
    lab.policy("retry.json")
    lab.target("apply", "accepts, then hangs", time="30s")
    lab.write_contract()
    script = (
        "import sys, time, pathlib\nfrom rerail.cli.main import run\n"
        "from rerail.holds import Holds, StateUnusable\n"
        "def locked(*_):\n"
        f"    while not pathlib.Path({str(lab.live / 'ready')!r}).exists(): time.sleep(0.01)\n"
        "    raise StateUnusable('database is locked', hint='')\n"
        "Holds.started = locked\n"
        "sys.exit(run(['run', 'task/task.yaml', '-o', 'cut.tape', '--no-wait']))\n"
    )
    words = [sys.executable, "-c", script]
    ran = subprocess.run(words, cwd=lab.folder, env=lab.environment, check=False, timeout=60)
    assert ran.returncode == 3
    assert len(lab.applied()) == 1
    [result] = events(lab.folder / "cut.tape", planes.ActionResult)
    assert result.outcome == "unknown"
    assert "database is locked" in result.reason
    assert lab.run().status == 2
    assert "applied" in lab.rerail("reconcile", lab.open_attempt()).stdout


def test_nothing_is_reconciled_while_it_is_still_under_way(lab: Lab) -> None:
    lab.policy("retry.json")
    lab.target("apply", "accepts, then hangs", time="30s")
    process, _ = lab.start("--no-wait")
    lab.wait_for((lab.live / "ready").exists, "nothing is applied")
    asked = lab.rerail("reconcile", lab.open_attempt())
    assert asked.returncode == 2
    assert "is still under way: process" in asked.stderr
    words = ["--state", "not-applied", "--reason", "I saw nothing"]
    said = lab.rerail("reconcile", lab.open_attempt(), *words)
    assert said.returncode == 2
    assert "is still under way: process" in said.stderr
    assert lab.holds().on(task_id="TASK-LAB")
    process.kill()
    process.wait()
    [attempt] = lab.holds().attempts()
    lab.wait_for(lambda: not alive_in_session(attempt.session), "the action goes on alone")
    assert lab.rerail("reconcile", attempt.id).returncode == 0


# What is run again.


def test_a_repaired_checker_judges_the_unchanged_proposal(lab: Lab) -> None:
    made = FAULTS["the checker goes by another baseline"].make(lab)
    lab.checker()
    ran = lab.run("--recheck", str(made.tape))
    assert (ran.status, ran.outcome["verdict"]) == (0, "PASS")
    [first] = events(made.tape, planes.ProposalMade)
    [second] = events(ran.tape, planes.ProposalMade)
    assert first.proposal_ref == second.proposal_ref
    assert kinds(ran.tape)[0] == "task.follows"
    assert not events(ran.tape, ProcessStarted, HttpRequest, planes.ActionAttempted)
    applied = lab.run("--apply", str(ran.tape))
    assert applied.outcome["state"] == "waiting"


def test_what_cannot_go_onto_its_tape_leaves_no_folder_behind(lab: Lab) -> None:
    made = FAULTS["checked, no target"].make(lab)
    ran = lab.run("--recheck", str(made.tape), tape=made.tape.name)
    assert ran.status == 2
    assert list((lab.home / "state" / "rerail" / "runs").iterdir()) == []
    assert list((lab.folder / "tmp").iterdir()) == []


def test_a_case_is_rechecked_while_its_task_is_held(lab: Lab) -> None:
    made = FAULTS["the checker goes by another baseline"].make(lab)
    opened = lab.rerail("trace", "open", str(made.tape), "--question", "why STOP?", "-o", "CASE-1")
    assert opened.returncode == 0, opened.stderr
    assert lab.run().status == 2
    lab.checker()
    ran = lab.run("--recheck", "CASE-1")
    assert (ran.status, ran.outcome["verdict"]) == (0, "PASS")
    held = lab.run("--apply", str(ran.tape))
    assert held.status == 2
    assert "a case is open" in held.said


def test_nothing_is_applied_without_a_pass(lab: Lab) -> None:
    made = FAULTS["violates a policy in its input"].make(lab)
    ran = lab.run("--apply", str(made.tape))
    assert ran.status == 2
    assert "nothing is applied without a PASS" in ran.said
    del lab.contract["target"]
    assert "names no target" in lab.run("--apply", str(made.tape)).said


def test_a_stop_is_tried_again_as_often_as_the_contract_says(lab: Lab) -> None:
    lab.answer = {"timeout_before_send": 9}
    lab.contract["retries"] = 1
    ran = lab.run(tape="r.tape")
    assert ran.outcome["state"] == "stopped"
    first, second = lab.folder / "r.tape", lab.folder / "r-2.tape"
    assert Path(ran.outcome["tape"]).name == second.name
    [decided] = events(first, planes.RetryDecided)
    assert (decided.scheduled, decided.number, decided.limit) == (True, 1, 1)
    [follows] = events(second, planes.TaskFollows)
    assert follows.relation == "retry"
    assert events(second, planes.TaskAccepted)[0].number == 2
    assert not events(second, planes.RetryDecided)[0].scheduled


def test_a_retry_goes_onto_a_tape_that_is_free(lab: Lab) -> None:
    lab.answer = {"timeout_before_send": 9}
    lab.contract["retries"] = 1
    (lab.folder / "r-2.tape").write_text("somebody else's")
    ran = lab.run(tape="r.tape")
    assert (ran.status, ran.outcome["state"]) == (1, "stopped")
    assert Path(ran.outcome["tape"]).name == "r-3.tape"
    assert (lab.folder / "r-2.tape").read_text() == "somebody else's"


def test_a_retry_that_cannot_begin_leaves_the_outcome_of_the_first(lab: Lab) -> None:
    lab.answer = {"timeout_before_send": 9}
    lab.contract["retries"] = 1
    lab.write_contract()
    script = (
        "import sys\nimport rerail.task.runner as runner\nfrom rerail.cli.main import run\n"
        "from rerail.errors import UsageProblem\n"
        "class Once(runner.Place):\n"
        "    made = 0\n"
        "    def __init__(self, *given):\n"
        "        Once.made += 1\n"
        "        if Once.made > 1: raise UsageProblem('no folder for the run', hint='room')\n"
        "        super().__init__(*given)\n"
        "runner.Place = Once\n"
        "sys.exit(run(['run', 'task/task.yaml', '-o', 'r.tape', '--no-wait', '--json']))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=lab.folder, env=lab.environment, timeout=60,
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    assert "no folder for the run" in ran.stderr
    assert json.loads(ran.stdout)["state"] == "stopped"
    assert json.loads(ran.stdout)["tape"] == "r.tape"


def test_a_held_task_starts_nothing_until_it_is_released(lab: Lab) -> None:
    held = lab.rerail("runs", "hold", "TASK-LAB", "--reason", "we look at RUN-8894")
    assert held.returncode == 0
    refused = lab.run()
    assert refused.status == 2
    assert "we look at RUN-8894" in refused.said
    name = held.stdout.split()[0]
    assert lab.rerail("runs", "release", name, "--reason", "done").returncode == 0
    assert lab.run().outcome["state"] == "waiting"
    listed = json.loads(lab.rerail("runs", "ls", "--all", "--json").stdout)
    assert listed[0]["release_reason"] == "done"


def test_a_run_of_a_task_replays_offline(lab: Lab) -> None:
    made = FAULTS["checked, no target"].make(lab)
    lab.model.close()
    replayed = lab.rerail("replay", str(made.tape))
    assert replayed.returncode == 0, replayed.stderr


def test_a_person_records_and_rewinds_a_held_task_with_a_reason(lab: Lab) -> None:
    made = FAULTS["checked, no target"].make(lab)
    lab.rerail("runs", "hold", str(made.tape), "--reason", "we look at it")
    command = ["-o", "again.tape", "--task", "TASK-LAB", "--no-workspace", "--", "true"]
    refused = lab.rerail("record", *command)
    assert refused.returncode == 125
    assert "we look at it" in refused.stderr
    assert not (lab.folder / "again.tape").exists()
    went = lab.rerail("record", "--despite-hold", "to compare", *command)
    assert went.returncode == 0, went.stderr
    [met] = events(lab.folder / "again.tape", planes.HoldMet)
    assert (met.reason, met.went_on, met.why) == ("we look at it", True, "to compare")

    back = ["rewind", str(made.tape), "--to", "1", "-o", "fork.tape"]
    assert lab.rerail(*back).returncode == 2
    lab.rerail(*back, "--despite-hold", "another hint")
    [met] = events(lab.folder / "fork.tape", planes.HoldMet)
    assert met.why == "another hint"
    free = lab.rerail("record", "-o", "other.tape", "--task", "T-2", "--no-workspace", "--", "true")
    assert free.returncode == 0


# A runner in trouble.


def test_a_runner_that_is_asked_to_end_puts_down_what_is_under_way(lab: Lab) -> None:
    lab.policy("retry.json")
    lab.target("apply", "accepts, then hangs", time="30s")
    process, tape = lab.start("--no-wait")
    lab.wait_for((lab.live / "ready").exists, "nothing is applied")
    process.terminate()
    assert process.wait(60) == 143
    [result] = events(tape, planes.ActionResult)
    assert result.outcome == "unknown"
    assert "interrupted" in result.reason
    assert events(tape, planes.TaskEnded)[0].state == "unresolved"
    assert lab.run().status == 2


def test_what_a_killed_runner_left_is_removed_by_the_next(lab: Lab) -> None:
    made = FAULTS["the worker is killed while it is checked"].make(lab)
    [scratch] = events(made.tape, planes.ScratchMade)
    runs = lab.home / "state" / "rerail" / "runs"
    assert Path(scratch.folder).exists()
    assert len(list(runs.iterdir())) == 1
    lab.checker()
    lab.run()
    assert not Path(scratch.folder).exists()
    assert list(runs.iterdir()) == []


def test_a_full_disk_applies_nothing(lab: Lab, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    small = lab.folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        lab.policy("*")
        lab.agent("fills")
        ran = lab.run(tape="small/run.tape")
        assert ran.status == 125, ran.said
        assert "the disk is full" in ran.said
        assert kinds(ran.tape)[0] == "task.accepted"
        assert not events(ran.tape, planes.ActionAttempted)
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert lab.applied() == []
    assert lab.holds().every() == []


def test_a_contract_that_cannot_be_read_starts_nothing(lab: Lab) -> None:
    lab.contract["chekcer"] = {}
    ran = lab.run()
    assert ran.status == 2
    assert "no such key: `chekcer`" in ran.said
    assert not ran.tape.exists()


def test_a_credential_that_is_not_there_is_said_first(lab: Lab) -> None:
    ran = lab.run(LAB_TOKEN="")
    assert ran.status == 2
    assert "`LAB_TOKEN`, which opens the target, is not set" in ran.said
    assert not ran.tape.exists()


def test_a_broken_policy_is_said_before_an_agent_works(lab: Lab) -> None:
    lab.policy("retry.json")
    (lab.task / "policy.yaml").write_text("grants: everything")
    ran = lab.run()
    assert ran.status == 2
    assert "policy.yaml" in ran.said
    assert not ran.tape.exists()


def test_an_approval_that_was_not_used_is_withdrawn_and_the_tape_says_so(lab: Lab) -> None:
    lab.policy("retry.json")
    lab.target("read", "fails")
    ran = lab.run()
    assert ran.outcome["state"] == "refused"
    [approval] = lab.holds().approvals()
    assert approval.state == "withdrawn"
    [withdrawn] = events(ran.tape, planes.ApprovalWithdrawn)
    assert withdrawn.approval_id == approval.id


@pytest.mark.parametrize("part", ["agent", "checker", "apply", "reconcile"])
def test_a_program_that_is_not_there_is_said_before_an_agent_works(part: str, lab: Lab) -> None:
    holder = lab.contract if part in lab.contract else lab.contract["target"]
    holder[part]["command"] = ["no-such-program"]
    ran = lab.run()
    assert (ran.status, ran.outcome["state"]) == (2, "not started")
    assert "no-such-program" in ran.said
    assert not events(ran.tape, ProcessStarted)


def test_an_agent_may_lie_in_its_workspace(lab: Lab) -> None:
    script = lab.task / "workspace" / "work.sh"
    script.write_text("#!/bin/sh\necho '{\"timeout_before_send\": 2}' > retry.json\n")
    script.chmod(0o755)
    lab.contract["agent"]["command"] = ["./work.sh"]
    assert lab.run().outcome["state"] == "waiting"


def test_the_policy_that_granted_is_on_the_tape(lab: Lab) -> None:
    made = FAULTS["applied by policy"].make(lab)
    [decided] = events(made.tape, planes.ApprovalDecided)
    with Tape.open(made.tape) as tape:
        assert tape.blob(decided.evidence.digest) == (lab.task / "policy.yaml").read_bytes()
