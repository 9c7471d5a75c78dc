"""RUN-8894 from its failure to its closed case, by the command line, on runs that went so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.journeys.faults import FAULTS, Lab

pytestmark = pytest.mark.journey


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made


def said(lab: Lab, *words: str, status: int = 0) -> list[str]:
    done = lab.rerail("trace", *words)
    assert done.returncode == status, done.stdout + done.stderr
    return str(done.stdout).splitlines()


def opened(lab: Lab, tape: Path) -> str:
    case = "CASE"
    said(lab, "open", str(tape), "--question", "Why STOP?", "-o", case, "--by", "ada")
    return case


def report(lab: Lab, case: str) -> Any:
    return yaml.safe_load("\n".join(said(lab, "report", case, "--by", "ada")))


def test_a_wrong_baseline_is_traced_rechecked_and_closed(lab: Lab) -> None:
    tape = FAULTS["the checker goes by another baseline"].make(lab).tape
    case = opened(lab, tape)
    assert said(lab, "diagnose", case, "--by", "ada")[0] == "classification: check"
    first = report_of_first(lab, case)
    said(lab, "review", case, "--first", first, "--category", "check", "--by", "grace")
    document = report(lab, case)
    assert document["status"]["says"] == "contained"
    assert "instead of the required baseline 12" in document["first_divergence"]["says"]
    for place in document["first_divergence"]["evidence"]:
        assert lab.rerail("show", str(tape), place.split()[1]).returncode == 0
    (lab.folder / "test_guard.py").write_text(
        "def test_the_guard_refuses_it() -> None:\n    pass\n"
    )
    points = said(lab, "check", case, "--test", "test_guard.py", "--by", "ada")
    assert [line for line in points if "holds:" in line] == points[1::2]


def report_of_first(lab: Lab, case: str) -> str:
    lines = said(lab, "timeline", case)
    [loaded] = [line for line in lines if "baseline.loaded" in line and "version 11" in line]
    return loaded.split("\t")[1]


def test_while_a_case_is_open_no_run_of_its_task_starts(lab: Lab) -> None:
    tape = FAULTS["the checker goes by another baseline"].make(lab).tape
    opened(lab, tape)
    refused = lab.run()
    assert refused.status != 0
    assert "a case is open: Why STOP?" in refused.said


def test_the_repaired_checker_joins_the_case(lab: Lab) -> None:
    tape = FAULTS["the checker goes by another baseline"].make(lab).tape
    case = opened(lab, tape)
    lab.checker()
    again = lab.run("--recheck", case, tape="again.tape")
    assert again.outcome["verdict"] == "PASS", again.said
    lines = said(lab, "collect", case, "again.tape")
    assert any(line.startswith("B  ") and "joined by" in line for line in lines)
    verified = said(lab, "verify", case, status=1)
    assert any("baseline 11 instead of the required baseline 12" in line for line in verified)
    assert said(lab, "diagnose", case)[0] == "classification: check"


def test_a_target_that_accepted_while_the_runner_timed_out(lab: Lab) -> None:
    made = FAULTS["accepted, then silent"].make(lab)
    case = opened(lab, made.tape)
    assert said(lab, "safety", case, status=1)[0] == "status: partially applied"
    document = report(lab, case)
    attempt = lab.open_attempt()
    assert document["status"]["says"] == "partially applied"
    assert attempt in document["escalation"]["says"]
    lab.rerail("reconcile", attempt, "-o", "reconciled.tape")
    said(lab, "collect", case, "reconciled.tape")
    lines = said(lab, "safety", case, status=1)
    assert "was applied, as reconciling found" in lines[1]
