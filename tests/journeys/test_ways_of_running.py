"""Runs that are not straightforward: impatient clients, retries, families of processes, copies."""

from collections.abc import Callable

import pytest

from rerail.capture.probes import FOLDER_GONE
from rerail.tape.records import CaptureMissing, HttpReplyBody
from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.model import SimulatedModel
from rerail.testing.model.server import Trouble
from rerail.testing.origin import Origin
from rerail.testing.replies import chunk, head, routes, text
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "api.example.com"
Start = Callable[..., Origin]


def endless(connection: Connection, request: Request) -> None:
    connection.send(head(200, [("Transfer-Encoding", "chunked")]))
    for number in range(10_000):
        connection.send(chunk(b"word %d" % number))
        connection.pause(0.02)


def silent(connection: Connection, request: Request) -> None:
    connection.hold()


def stalls(connection: Connection, request: Request) -> None:
    connection.send(head(200, [("Content-Length", "100")]) + b"only this")
    connection.hold()


def test_an_impatient_agent_leaves_and_gives_up_at_the_same_places(
    rail: Rail, start_origin: Start, authority: CertificateAuthority
) -> None:
    pages = {"/endless": endless, "/silent": silent, "/stalls": stalls, "/page": text("a page")}
    rail.resolve(HOST, start_origin(routes(pages), tls=authority.leaf(HOST)))
    recorded = rail.there_and_back(*rail.python("impatient.py", f"https://{HOST}"))
    assert recorded.text.count("gave up ReadTimeout") == 2
    exchanges = recorded.exchanges()
    assert [exchange.failed.ended for exchange in exchanges if exchange.failed] == ["agent_closed"]
    ends = [event.ended for event in recorded.events() if isinstance(event, HttpReplyBody)]
    assert ends == ["agent_closed", "agent_closed", "complete"]


@pytest.mark.usefixtures("openai_model")
def test_an_agent_that_clears_the_temporary_folder_is_recorded_all_the_same(rail: Rail) -> None:
    (rail.folder / "prompt.txt").write_text("a prompt")
    interpreter, script, *words = rail.python("five_turns.py", "prompt.txt")
    clear = (
        "import os, runpy, shutil, sys; shutil.rmtree(os.environ['RERAIL_RUN']); "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    recorded = rail.record(interpreter, "-c", clear, script, *words)
    assert recorded.status == 0, recorded.said
    assert len(recorded.exchanges()) == 5
    told = [event for event in recorded.events() if isinstance(event, CaptureMissing)]
    assert FOLDER_GONE in [event.what for event in told]


def test_the_retries_of_an_sdk_are_one_model_call(rail: Rail, openai_model: SimulatedModel) -> None:
    openai_model.trouble(Trouble(status=429, retry_after=0.01), Trouble(status=500))
    (rail.folder / "prompt.txt").write_text("a prompt")
    recorded = rail.record(*rail.python("five_turns.py", "prompt.txt"))
    assert len(recorded.exchanges()) == 7
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    assert replayed.green and replayed.output == recorded.output
    counts = replayed.report["counts"]
    assert (counts["requests"], counts["recorded_model_calls"]) == (7, 5)


def test_a_family_of_processes(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    fetch = f"curl -sS https://{HOST}/page?n="
    script = f"{fetch}1 > 1 & {fetch}2 > 2 & (sh -c '{fetch}3' > 3); wait; cat 1 2 3"
    recorded = rail.there_and_back("sh", "-c", script)
    assert len(recorded.exchanges()) == 3


@pytest.mark.parametrize("agent", ["httpx_agent.py", "websocket_agent.py"])
def test_a_recorded_replay_replays_as_its_recording_does(
    rail: Rail, start_playground: Start, agent: str
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    scheme, words = ("wss", []) if "websocket" in agent else ("https", ["httpx"])
    recorded = rail.record(*rail.python(agent, *words, f"{scheme}://{HOST}"))
    rail.stop_origins()
    assert rail.replay(recorded.tape, options=["-o", "copy.tape"]).green
    copied = rail.replay(rail.folder / "copy.tape")
    assert copied.green, copied.said
    assert copied.output == recorded.output


def test_an_origin_on_ipv6(
    rail: Rail, start_origin: Start, authority: CertificateAuthority
) -> None:
    try:
        origin = start_origin(routes({"/page": text("six")}), tls=authority.leaf("::1"), host="::1")
    except OSError:
        pytest.skip("there is no IPv6 on this machine")
    url = f"https://[::1]:{origin.port}/page"
    recorded = rail.record("curl", "-sS", url)
    assert (recorded.text, recorded.status) == ("six", 0)
    origin.close()
    assert rail.replay(recorded.tape).output == recorded.output


def test_the_newest_tape_is_replayed_where_none_is_named(
    rail: Rail, start_playground: Start
) -> None:
    rail.resolve(HOST, start_playground(HOST))
    command = rail.rerail("record", *rail.names, "--", "curl", "-sS", f"https://{HOST}/page")
    outputs = [rail.run(*command).output for _ in range(2)]
    assert outputs[0] != outputs[1]
    tapes = list((rail.folder / "runs").glob("*.tape"))
    assert len(tapes) == 2
    assert rail.run(*rail.rerail("replay")).output == outputs[1]


def test_named_variables_are_set_again(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    script = f'curl -sS "https://{HOST}/page?mode=$AGENT_MODE"; echo " $AGENT_MODE $OTHER"'
    kept = ["-e", "AGENT_MODE", "-e", "GIVEN=here"]
    recorded = rail.record(
        "sh", "-c", script, options=kept, environment={"AGENT_MODE": "night", "OTHER": "thing"}
    )
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    assert replayed.green
    assert replayed.text == recorded.text.replace("night thing", "night ")
    assert replayed.report["environment"] == ["AGENT_MODE", "GIVEN"]
    changed = rail.replay(recorded.tape, options=["-e", "AGENT_MODE=day"])
    assert changed.report["divergence"]["field"] == "query:mode"
