"""Faults that were really run are seen by the detector they are meant for; clean runs are not."""

import os
import signal
import sys
from collections.abc import Callable

import pytest

from rerail.tape.records import RunStarted
from rerail.testing.origin import Origin
from rerail.testing.replies import serve, text
from rerail.trace.detect.detectors import detectors
from rerail.trace.detect.ranking import candidates
from rerail.trace.finding import Finding
from tests.journeys.detected.faults import FAULTS, SHOWN, Fault
from tests.journeys.detected.lab import findings, looked_at
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

SEEN: dict[int, list[Finding]] = {}
"""Many faults have the same clean run beside them: it is run once."""
KNOWN = {detector.name: detector for detector in detectors()}


def name_of(fault: Fault) -> str:
    return fault.detector


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_a_fault_is_seen(fault: Fault, rail: Rail) -> None:
    found = findings(rail, fault.made)
    spoke = {finding.detector for finding in found}
    assert fault.detector in spoke
    blamed = {one.detector for one in found if one.tier != "context"}
    assert blamed <= {fault.detector, *fault.besides}
    assert KNOWN[fault.detector].category == fault.category
    assert candidates(found)[0].findings[0].category == fault.category
    for finding in found:
        assert finding.evidence, finding


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_a_clean_run_is_left_alone(fault: Fault, rail: Rail) -> None:
    if id(fault.clean) not in SEEN:
        SEEN[id(fault.clean)] = findings(rail, fault.clean)
    found = SEEN[id(fault.clean)]
    assert [one for one in found if one.tier != "context"] == []


@pytest.mark.parametrize("shown", SHOWN, ids=name_of)
def test_context_is_shown_and_nobody_is_blamed(shown: Fault, rail: Rail) -> None:
    found = findings(rail, shown.made)
    assert shown.detector in {finding.detector for finding in found}
    assert KNOWN[shown.detector].category == shown.category
    assert [one for one in found if one.tier != "context"] == []


@pytest.mark.parametrize("shown", SHOWN, ids=name_of)
def test_context_that_is_not_there_is_not_shown(shown: Fault, rail: Rail) -> None:
    assert shown.detector not in {finding.detector for finding in findings(rail, shown.clean)}


def test_what_went_past_the_recorder_blames_nobody(
    rail: Rail, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin(serve(text("direct")))
    direct = f"import httpx; httpx.Client(trust_env=False).get('{origin.url}/')"
    options = ["--watch", "--no-workspace"]
    recorded = rail.record(sys.executable, "-c", direct, options=options)
    started = recorded.events()[0]
    assert isinstance(started, RunStarted)
    if started.capture["bypass"] != "TCP is noticed":
        pytest.skip("this kernel cannot tell")
    (finding,) = looked_at(recorded.tape)
    assert (finding.detector, finding.missing) == ("not-recorded", True)


def test_a_recorder_that_was_killed_leaves_a_tape_without_an_end(rail: Rail) -> None:
    waits = "import os, signal; print(os.getpid()); signal.pause()"
    command = (sys.executable, "-uc", waits)
    running = rail.start_recording(*command, options=["--no-workspace"])
    left = int(running.line())
    running.process.kill()
    os.kill(left, signal.SIGKILL)
    running.end()
    found = looked_at(rail.folder / "run.tape")
    assert "run-lost" in {finding.detector for finding in found}


def test_every_detector_has_a_run_of_its_own() -> None:
    tried = {fault.detector for fault in (*FAULTS, *SHOWN)}
    assert {one.name for one in detectors()} - tried == {"run-lost", "not-recorded"}
