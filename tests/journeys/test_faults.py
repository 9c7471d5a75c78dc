"""Every fault of the lab ends as it is said to, and leaves a tape that can be trusted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.tape.plane_records import TaskEnded
from tests.journeys.faults import FAULTS, Lab
from tests.journeys.faults.lab import events


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
