"""Every fault of the lab ends as it is said to, leaves a tape to be trusted, and is traced."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.tape.plane_records import TaskEnded
from tests.journeys.faults import FAULTS, Lab
from tests.journeys.faults.lab import events
from tests.journeys.faults.traced import SAFETY, traced


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made


@pytest.mark.journey
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_as_it_is_said_to(name: str, lab: Lab) -> None:
    made = FAULTS[name].make(lab)
    for tape in made.tapes:
        verified = lab.rerail("verify", str(tape))
        assert verified.returncode == 0, verified.stdout + verified.stderr
    ended = [event.state for tape in made.tapes for event in events(tape, TaskEnded)]
    expected = [FAULTS[name].state] if FAULTS[name].state else []
    assert ended[-1:] == expected, [ran.said for ran in made.ran]
    seen = traced(made)
    found = seen.diagnosis
    assert found.classification == (FAULTS[name].category or "unresolved"), found.because
    assert seen.first == (seen.second or ""), "the second way leads elsewhere"
    assert seen.safety.state == SAFETY.get(name, "contained"), seen.safety.because
    if FAULTS[name].category is None:
        assert not found.candidates, "a clean run is blamed"


def test_the_page_says_how_many_faults_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "trace.md").read_text("utf-8")
    made = Counter(fault.category or "none" for fault in FAULTS.values())
    rows = dict(re.findall(r"^\| (\w+) \| (\d+) \| \2 \|$", page, re.MULTILINE))
    assert {name: int(count) for name, count in rows.items()} == made
