"""Faults that were really run are seen by the detector they are meant for; clean runs are not."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace

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


ASKS = "import httpx, sys; httpx.Client(trust_env=sys.argv[1] == 'recorded').get('{url}/')"


def test_what_went_past_the_recorder_blames_nobody(
    rail: Rail, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin(serve(text("direct")))
    command = (sys.executable, "-c", ASKS.format(url=origin.url))
    options = ["--watch", "--no-workspace"]
    past = rail.record(*command, "past", options=options)
    started = past.events()[0]
    assert isinstance(started, RunStarted)
    if started.capture["bypass"] != "TCP is noticed":
        pytest.skip("this kernel cannot tell")
    (finding,) = looked_at(past.tape)
    assert (finding.detector, finding.missing) == ("not-recorded", True)
    through = rail.record(*command, "recorded", tape="through.tape", options=options)
    assert looked_at(through.tape) == []


WAITS = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print(os.getpid())
signal.pause()
"""


def test_a_recorder_that_was_killed_leaves_a_tape_without_an_end(rail: Rail) -> None:
    options = ["--no-workspace"]
    killed = rail.start_recording(sys.executable, "-uc", WAITS, options=options)
    left = int(killed.line())
    killed.process.kill()
    os.kill(left, signal.SIGKILL)
    killed.end()
    assert "run-lost" in {finding.detector for finding in looked_at(rail.folder / "run.tape")}
    ended = rail.start_recording(sys.executable, "-uc", WAITS, tape="b.tape", options=options)
    os.kill(int(ended.line()), signal.SIGTERM)
    assert ended.end().status == 0
    assert looked_at(rail.folder / "b.tape") == []


@pytest.mark.parametrize("name", ["cut-off", "limit-reached"])
def test_a_turn_limit_is_an_accounts_word_and_on_a_tape_a_call_without_an_answer(
    name: str, rail: Rail
) -> None:
    made = next(fault.made for fault in FAULTS if fault.detector == name)
    (finding,) = findings(rail, replace(made, imported=False))
    assert (finding.detector, finding.missing) == ("unanswered-call", True)


def test_every_detector_has_a_run_of_its_own() -> None:
    tried = {fault.detector for fault in (*FAULTS, *SHOWN)}
    assert {one.name for one in detectors()} - tried == {"run-lost", "not-recorded"}
