"""The safety state: from records alone, never from the runner's word."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape import plane_records as planes
from rerail.testing.plane_tapes import MINUTE, PlaneTape, run_8894
from rerail.testing.tapes import WALL, Recording
from rerail.trace.log_source import LogSource, read_mapping

Investigate = Callable[..., Any]
NewTape = Callable[..., PlaneTape]


def passed(tape: PlaneTape) -> PlaneTape:
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    return tape


def test_contained(tmp_path: Path, investigated: Investigate) -> None:
    safe = investigated(run_8894(tmp_path / "run.tape"), held="H-1").safety
    assert safe.state == "contained"
    assert [one.answer for one in safe.questions] == ["no", "yes", "no", "no", "no"]
    assert "on this machine only" in safe.questions[3].because


@pytest.mark.parametrize(
    ("outcome", "after", "state"),
    [
        ("accepted", "limit 5", "applied"),
        ("accepted", "limit 3", "unresolved"),
        ("accepted", None, "unresolved"),
        ("rejected", "limit 3", "contained"),
        ("rejected", "limit 4", "partially applied"),
        ("rejected", None, "unresolved"),
        ("unknown", "limit 5", "partially applied"),
        ("unknown", "limit 3", "unresolved"),
        ("unknown", None, "unresolved"),
        (None, "limit 5", "partially applied"),
        (None, None, "unresolved"),
    ],
)
@pytest.mark.parametrize("runner", ["applied", "rejected", "stopped", "unresolved"])
def test_whatever_the_runner_says(
    plane_tape: NewTape, investigated: Investigate, outcome: Any, after: str | None, state: str,
    runner: planes.TaskState,
) -> None:  # fmt: skip
    tape = passed(plane_tape())
    tape.act(outcome, after=after)
    assert investigated(tape.end(runner)).safety.state == state


def test_a_time_out_is_never_contained_and_escalates(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = passed(plane_tape())
    tape.act("unknown", timed_out=True, after="limit 5")
    safe = investigated(tape.end("unresolved")).safety
    assert safe.state == "partially applied"
    assert safe.questions[4].answer == "yes"


def test_the_targets_own_log_says_more_than_the_runner(
    plane_tape: NewTape, investigated: Investigate, tmp_path: Path
) -> None:
    tape = passed(plane_tape())
    tape.act("unknown", timed_out=True, after=None)
    line = {"event": "target.accepted", "attempt": "T-1"}
    (tmp_path / "t.log").write_text(json.dumps(line) + "\n")
    mapping = read_mapping(b"{kind: {field: event}, ids: {attempt: attempt}}", "m")
    log = LogSource("B", tmp_path / "t.log", mapping)
    seen = investigated(tape.end("unresolved"), log)
    assert seen.safety.state == "partially applied"
    assert "accepted by the target, and the runner was not told" in seen.safety.because


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("applied", "partially applied"),
        ("not applied", "contained"),
        ("partly applied", "partially applied"),
        ("unknown", "unresolved"),
    ],
)
def test_after_reconciling(
    plane_tape: NewTape, investigated: Investigate, state: planes.TargetState, expected: str
) -> None:
    tape = passed(plane_tape())
    tape.act("unknown", timed_out=True, after=None)
    tape.put(planes.ActionReconciled, attempt_id="T-1", state=state, who="ada", how="person")
    assert investigated(tape.end("unresolved")).safety.state == expected


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden"])
def test_what_an_agent_sent_elsewhere_leaves_open_whether_to_reconcile(
    plane_tape: NewTape, investigated: Investigate, status: str
) -> None:
    tape = plane_tape()
    tape.recording.request(1, b"{}", method="POST", target="/orders")
    tape.recording.reply(1, [b"ok"], status=status)
    tape.agents_plane()
    tape.check()
    safe = investigated(tape.end()).safety
    assert (safe.questions[0].answer, safe.questions[4].answer) == ("unknown", "unknown")
    assert "may have changed something" in safe.questions[4].because


def test_a_tape_that_follows_had_no_workspace_of_an_agent(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = plane_tape()
    tape.put(planes.TaskFollows, run_id="R", tape_id="T", relation="apply")
    tape.put(planes.CleanupDone, folder="/scratch/2", outcome="removed")
    asked = investigated(tape.end("applied")).safety.questions[1]
    assert (asked.answer, asked.because) == ("yes", "none was made: no agent ran")
    failed = plane_tape("failed.tape")
    failed.put(planes.TaskFollows, run_id="R", tape_id="T", relation="recheck")
    failed.put(planes.CleanupDone, folder="/scratch/2", outcome="failed")
    assert investigated(failed.end("applied")).safety.questions[1].answer == "no"


def test_rolled_back(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = passed(plane_tape())
    tape.act()
    tape.put(planes.TargetRead, target="payments", moment="later", argv=["read"],
             content=tape.content("limit 3"))  # fmt: skip
    assert investigated(tape.end("applied")).safety.state == "rolled back"


def test_an_approval_that_is_left_valid(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = passed(plane_tape())
    path = tape.end("waiting")
    early = investigated(path, now=WALL + MINUTE).safety
    assert (early.state, early.questions[2].answer) == ("unresolved", "yes")
    late = investigated(path, now=WALL + 16 * MINUTE).safety
    assert (late.state, late.questions[2].answer) == ("contained", "no")


def test_an_approval_that_was_withdrawn_opens_nothing(
    plane_tape: NewTape, investigated: Investigate
) -> None:
    tape = passed(plane_tape())
    tape.put(planes.ApprovalWithdrawn, component="runner", approval_id="A-1")
    safe = investigated(tape.end("refused"), now=WALL + MINUTE).safety
    assert (safe.state, safe.questions[2].answer) == ("contained", "no")


def test_a_retry_that_was_scheduled(plane_tape: NewTape, investigated: Investigate) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check()
    tape.put(planes.RetryDecided, number=1, limit=3, scheduled=True)
    path = tape.end()
    assert investigated(path).safety.questions[3].answer == "yes"
    assert investigated(path, held="H-1").safety.questions[3].answer == "no"


def test_a_tape_without_its_end_shows_no_absence(
    plane_tape: NewTape, investigated: Investigate, tmp_path: Path
) -> None:
    tape = plane_tape()
    tape.agents_plane()
    tape.check()
    left = tape.recording.leave(tmp_path / "left.tape")
    safe = investigated(left).safety
    assert safe.state == "unresolved"
    assert "no end record" in safe.because
    tape.end()


def test_an_ordinary_run_that_wrote_to_a_service(tmp_path: Path, investigated: Investigate) -> None:
    tape = Recording.begin(tmp_path / "run.tape")
    tape.chat(1)
    tape.reply(1, [b"{}"])
    tape.request(2, b"{}", method="POST", target="/refunds")
    tape.reply(2, [b"{}"])
    tape.end()
    safe = investigated(tmp_path / "run.tape").safety
    assert safe.state == "unresolved"
    assert "1 request of the agent" in safe.because


def test_an_ordinary_run_that_only_read(tmp_path: Path, investigated: Investigate) -> None:
    tape = Recording.begin(tmp_path / "run.tape")
    tape.chat(1)
    tape.reply(1, [b"{}"])
    tape.request(2)
    tape.reply(2, [b"{}"])
    tape.end()
    assert investigated(tmp_path / "run.tape").safety.state == "contained"


def test_a_write_that_was_never_answered_needs_reconciling(
    tmp_path: Path, investigated: Investigate
) -> None:
    tape = Recording.begin(tmp_path / "run.tape")
    tape.request(1, b"{}", method="PUT")
    tape.end()
    safe = investigated(tmp_path / "run.tape").safety
    assert (safe.state, safe.questions[4].answer) == ("unresolved", "yes")
