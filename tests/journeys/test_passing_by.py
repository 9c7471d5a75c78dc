"""While recording: what passes the recorder by is let through, and said."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.tape.records import CaptureMissing, RunStarted
from rerail.testing.origin import Origin
from rerail.testing.replies import routes, text
from tests.journeys.rail import Rail, Recorded

pytestmark = pytest.mark.journey

Start = Callable[..., Origin]
DIRECT = "import httpx; print(httpx.Client(trust_env=False).get('{url}').text)"
PYTHON = Path(sys.executable).name
PASSED = "a connection passed the recorder by"


def missing(recorded: Recorded) -> list[CaptureMissing]:
    return [event for event in recorded.events() if isinstance(event, CaptureMissing)]


def is_watched(recorded: Recorded) -> bool:
    started = recorded.events()[0]
    assert isinstance(started, RunStarted)
    return started.capture["bypass"] == "TCP is noticed"


def test_a_client_that_takes_no_proxy_is_named(rail: Rail, start_origin: Start) -> None:
    origin = start_origin(routes({"/": text("direct")}))
    recorded = rail.record(
        sys.executable, "-c", DIRECT.format(url=origin.url + "/"), options=["--watch"]
    )
    if not is_watched(recorded):
        pytest.skip("this kernel cannot tell")
    assert recorded.text == "direct\n", recorded.said
    (event,) = missing(recorded)
    target = f"{origin.host}:{origin.port}"
    assert event.what == PASSED
    assert event.process_id == 1
    assert event.detail.startswith(f"{PYTHON} (pid ")
    assert event.detail.endswith(f" to {target}")
    assert f"1 connection passed the recorder by, not on the tape: {PYTHON} to {target}" in (
        recorded.said
    )


def test_a_burst_of_the_same_is_counted(rail: Rail, start_origin: Start) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    origin = start_origin(routes({"/": text("direct")}))
    script = f"for n in 1 2 3 4 5; do curl -sS --noproxy '*' {origin.url}/; done"
    recorded = rail.record("sh", "-c", script, options=["--watch"])
    if not is_watched(recorded):
        pytest.skip("this kernel cannot tell")
    first, last = missing(recorded)
    assert first.detail.endswith(f"{origin.host}:{origin.port}")
    assert last.detail.endswith(", 5 times in all")
    assert recorded.exchanges() == []


def test_what_goes_through_the_recorder_and_what_stays_inside_are_no_warning(
    rail: Rail, start_playground: Start
) -> None:
    rail.resolve("api.example.com", start_playground("api.example.com"))
    recorded = rail.record(
        *rail.python("own_server.py", "https://api.example.com/page"), options=["--watch"]
    )
    assert len(recorded.exchanges()) == 1
    assert "passed the recorder by" not in recorded.said
    if is_watched(recorded):
        inside = "a connection inside the run was not recorded"
        assert {event.what for event in missing(recorded)} <= {inside}


def test_it_can_be_turned_off(rail: Rail, start_origin: Start) -> None:
    origin = start_origin(routes({"/": text("direct")}))
    words = [sys.executable, "-c", DIRECT.format(url=origin.url + "/")]
    recorded = rail.record(*words, options=["--no-watch"])
    started = recorded.events()[0]
    assert isinstance(started, RunStarted)
    assert started.capture["bypass"] == "not noticed: not asked for"
    assert missing(recorded) == []


def test_where_the_kernel_may_not_tell_python_does(rail: Rail, start_origin: Start) -> None:
    """An ordinary user with sudo: the filter would take sudo away."""
    origin = start_origin(routes({"/": text("direct")}))
    program = (
        "import rerail.capture.session as session; from rerail.cli.main import main;"
        "session.why_not = lambda environment, wanted: 'a test'; main()"
    )
    direct = DIRECT.format(url=origin.url + "/")
    words = ["record", "-o", "run.tape", "--", sys.executable, "-c", direct]
    ran = rail.run(sys.executable, "-c", program, *words)
    recorded = Recorded(ran.status, ran.output, ran.said, rail.folder / "run.tape")
    assert recorded.text == "direct\n", recorded.said
    started = recorded.events()[0]
    assert isinstance(started, RunStarted)
    assert started.capture["bypass"] == "only Python tells: a test"
    (event,) = missing(recorded)
    assert event.what == PASSED
    assert event.detail.endswith(f"to {origin.host}:{origin.port}")
    assert "1 connection passed the recorder by" in recorded.said


OUTLIVES = """
import os, select, socket, sys, urllib.request
recorder = os.pidfd_open(os.getppid())
host, port = sys.argv[1:]
print(urllib.request.urlopen(f"http://{host}:{port}/").read().decode(), flush=True)
select.select([recorder], [], [])
print(socket.socket().connect_ex((host, int(port))), flush=True)
"""


def test_connections_go_on_when_the_recorder_is_killed(rail: Rail, start_origin: Start) -> None:
    """The kernel refuses calls that nobody is left to look at."""
    origin = start_origin(routes({"/": text("direct")}))
    words = [sys.executable, "-c", OUTLIVES, origin.host, str(origin.port)]
    running = rail.start_recording(*words, options=["--watch"])
    assert running.line() == b"direct"
    running.process.kill()
    assert running.line() == b"0"
    running.end()
