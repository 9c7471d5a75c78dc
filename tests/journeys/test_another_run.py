"""Another run of an agent that no hook reaches: its own identifiers, another day, another home."""

import json
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import document, open_stream, serve
from tests.journeys.rail import AGENTS, Rail, Recorded

pytestmark = pytest.mark.journey

MODEL, ANALYTICS = "api.openai.com", "us.i.posthog.com"
SCHEMA = Path(__file__).parents[2] / "spec" / "replay-report.schema.json"
WEST, EAST = {"TZ": "WEST12"}, {"TZ": "EAST-14"}
"""Time zones between which it is never the same day."""


def echoing(connection: Connection, request: Request) -> None:
    """What the agent called itself, an identifier of the server's own, and something said."""
    asked = json.loads(request.read())
    value = {
        "id": f"resp_{secrets.token_hex(12)}",
        "user": asked.get("user"),
        "call": asked.get("call"),
        "said": f"I say {secrets.token_hex(4)}.",
    }
    document(value)(connection, request)


@pytest.fixture
def origins(
    rail: Rail, start_origin: Callable[..., Origin], authority: CertificateAuthority
) -> None:
    for name in (MODEL, ANALYTICS):
        rail.resolve(name, start_origin(serve(echoing), tls=authority.leaf(name)))


def command(count: int) -> list[str]:
    """The agent in Python's isolated mode, which no hook of ours reaches."""
    agent = str(AGENTS / "anew.py")
    return [sys.executable, "-I", agent, f"https://{MODEL}", f"https://{ANALYTICS}", str(count)]


def record(rail: Rail) -> Recorded:
    recorded = rail.record(*command(1), environment=WEST)
    assert recorded.status == 0, recorded.said + recorded.text
    rail.stop_origins()
    return recorded


@pytest.mark.usefixtures("origins")
def test_another_run_is_followed_under_rules_that_the_report_names(rail: Rail) -> None:
    recorded = record(rail)
    home = rail.folder / "another home"
    home.mkdir()
    replayed = rail.replay(recorded.tape, *command(2), environment={**EAST, "HOME": str(home)})
    assert replayed.green, replayed.said + replayed.text
    assert replayed.output == recorded.output
    report = replayed.report
    jsonschema.validate(report, json.loads(SCHEMA.read_bytes()))
    used = {rule["name"]: rule["used"] for rule in report["rules"]}
    assert used == {"renamed ids": 3, "fact: date": 3, "fact: home": 3, "posthog analytics": 6}
    assert report["counts"]["equivalent"] == 3
    assert report["counts"]["side_calls"] == 6
    assert len(report["renamed"]) == 7, "the session, and a message and a call for each turn"
    assert max(pair["requests"] for pair in report["renamed"]) == 3
    assert "7 identifiers made up anew" in replayed.said
    assert rail.reached == 0


@pytest.mark.usefixtures("origins")
def test_a_tape_without_facts_does_not_know_that_the_day_differs(rail: Rail) -> None:
    recorded = rail.record(*command(0), options=["--no-facts"], environment=WEST)
    rail.stop_origins()
    assert rail.replay(recorded.tape, environment=WEST).green
    replayed = rail.replay(recorded.tape, environment=EAST)
    assert replayed.status == 1
    (difference,) = replayed.report["divergence"]["differences"]
    assert difference["path"] == "messages[0].content"


LAST = b'data: {"choices":[{"delta":{"content":"hello"}}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("manner", ["leaves", "stays"])
def test_a_reply_whose_reader_left_after_the_last_event_is_whole(
    rail: Rail,
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
    manner: str,
) -> None:
    origin = start_origin(serve(open_stream(LAST)), tls=authority.leaf(MODEL))
    rail.resolve(MODEL, origin)
    recorded = rail.record(*rail.python("leaver.py", f"https://{MODEL}", "leaves"))
    assert recorded.status == 0, recorded.said + recorded.text
    bodies = [exchange.reply_body for exchange in recorded.exchanges()]
    assert [body.ended for body in bodies if body] == ["agent_closed", "agent_closed"]
    assert "went away" not in rail.run(*rail.rerail("show", str(recorded.tape))).text
    rail.stop_origins()
    replayed = rail.replay(
        recorded.tape, *rail.python("leaver.py", f"https://{MODEL}", manner), seconds=30
    )
    assert replayed.green, replayed.said + replayed.text
    assert replayed.output == recorded.output


@pytest.mark.usefixtures("openai_model")
def test_the_turns_of_a_session_with_its_own_identifiers_are_followed(rail: Rail) -> None:
    agent = [sys.executable, "-I", str(AGENTS / "session.py"), f"wss://{MODEL}"]
    recorded = rail.record(*agent)
    assert recorded.status == 0, recorded.said + recorded.text
    rail.stop_origins()
    replayed = rail.replay(recorded.tape)
    assert replayed.green, replayed.said + replayed.text
    said = recorded.text
    for pair in replayed.report["renamed"]:
        said = said.replace(pair["recorded"], pair["now"])
    assert replayed.text == said, "the model repeats the session's name, which is the agent's own"
    counts = replayed.report["counts"]
    assert (counts["recorded_model_calls"], counts["matched_model_calls"]) == (3, 3)
    assert {rule["name"] for rule in replayed.report["rules"]} == {"renamed ids"}
    assert len(replayed.report["renamed"]) == 4
    listed = rail.run(*rail.rerail("show", "--steps", str(recorded.tape))).text
    assert "s1-s3" in listed
