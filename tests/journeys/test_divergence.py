"""Changed code against a tape: the first request that is not on it is named, to the word."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin
from tests.journeys.rail import Rail, Recorded

pytestmark = pytest.mark.journey

SITE = "pages.example.com"
FIRST = "File it under the customer who wrote, please."
CHANGED = "File it under the account holder who wrote, please."
SCHEMA = Path(__file__).parents[2] / "spec" / "replay-report.schema.json"


@pytest.fixture
def five_turns(rail: Rail, openai_model: SimulatedModel) -> Recorded:
    """A recorded run of five turns, and beside it the prompt that was changed since."""
    (rail.folder / "prompt.txt").write_text(FIRST)
    recorded = rail.record(*rail.python("five_turns.py", "prompt.txt"))
    assert recorded.status == 0, recorded.said
    (rail.folder / "prompt.txt").write_text(CHANGED)
    return recorded


def test_a_changed_prompt_at_turn_3_is_named_with_its_words(
    rail: Rail, five_turns: Recorded
) -> None:
    rail.stop_origins()
    replayed = rail.replay(five_turns.tape)
    assert replayed.status == 1
    report = replayed.report
    jsonschema.validate(report, json.loads(SCHEMA.read_bytes()))
    divergence = report["divergence"]
    assert (divergence["request"], divergence["step"], divergence["kind"]) == (3, 3, "different")
    assert divergence["field"] == "messages[5].content"
    assert divergence["nearest"]["exchange"] == divergence["nearest"]["step"] == 3
    (difference,) = divergence["differences"]
    assert [(word["recorded"], word["now"]) for word in difference["words"]] == [
        ("customer", "account holder")
    ]
    assert {reason["code"] for reason in report["verdict"]["reasons"]} >= {
        "refused",
        "unused_model_calls",
        "ended_otherwise",
    }
    assert "r3, model call s3" in replayed.said
    assert "messages[5].content" in replayed.said
    assert "[-customer-]" in replayed.said and "{+account holder+}" in replayed.said
    assert rail.reached == 0


def test_the_sdk_raises_its_own_error_at_once_and_does_not_try_again(
    rail: Rail, five_turns: Recorded
) -> None:
    replayed = rail.replay(five_turns.tape)
    lines = replayed.text.splitlines()
    assert lines[:2] == five_turns.text.splitlines()[:2]
    assert lines[2].startswith("turn 3: BadRequestError 400: ")
    assert "rerail" in lines[2] and "messages[5].content" in lines[2]
    assert replayed.report["counts"]["requests"] == 3
    assert replayed.report["ended"] == {"status": 4, "signal": 0}


def test_requests_are_counted_by_their_order_and_model_calls_by_theirs(
    rail: Rail,
    openai_model: SimulatedModel,
    start_playground: Callable[..., Origin],
) -> None:
    rail.resolve(SITE, start_playground(SITE))
    (rail.folder / "prompt.txt").write_text(FIRST)
    recorded = rail.record(*rail.python("five_turns.py", "prompt.txt", f"https://{SITE}"))
    rail.stop_origins()
    (rail.folder / "prompt.txt").write_text(CHANGED)
    divergence = rail.replay(recorded.tape).report["divergence"]
    assert (divergence["request"], divergence["step"]) == (6, 3)
    assert divergence["nearest"]["exchange"] == 6


def test_other_code_follows_another_command(rail: Rail, five_turns: Recorded) -> None:
    rail.stop_origins()
    (rail.folder / "old.txt").write_text(FIRST)
    replayed = rail.replay(five_turns.tape, *rail.python("five_turns.py", "old.txt"))
    assert replayed.green
    assert replayed.output == five_turns.output


def test_follow_goes_on_with_the_nearest_reply_and_is_never_green(
    rail: Rail, five_turns: Recorded
) -> None:
    rail.stop_origins()
    replayed = rail.replay(five_turns.tape, options=["--on-divergence=follow"])
    assert replayed.output == five_turns.output
    assert replayed.status == 1
    report = replayed.report
    assert report["counts"]["followed"] == 3
    assert [reason["code"] for reason in report["verdict"]["reasons"]] == ["followed"]
    assert report["divergence"]["answered"] == "followed"
    assert rail.reached == 0


def test_live_asks_only_recorded_model_hosts_and_is_never_green(
    rail: Rail,
    openai_model: SimulatedModel,
    start_playground: Callable[..., Origin],
) -> None:
    pages = start_playground(SITE)
    rail.resolve(SITE, pages)
    (rail.folder / "prompt.txt").write_text(FIRST)
    recorded = rail.record(*rail.python("five_turns.py", "prompt.txt", f"https://{SITE}"))
    asked, fetched = len(openai_model.asked), pages.connections
    (rail.folder / "prompt.txt").write_text(CHANGED)
    replayed = rail.replay(recorded.tape, options=["--on-divergence=live", *rail.names])
    lines, before = replayed.text.splitlines(), recorded.text.splitlines()
    assert lines[:2] == before[:2]
    assert len(lines) == 5 and lines[2:] != before[2:]
    assert replayed.status == 1
    assert replayed.report["counts"]["live"] == len(openai_model.asked) - asked == 3
    assert replayed.report["verdict"]["reasons"][0]["code"] == "went_live"
    assert pages.connections == fetched


def test_live_refuses_what_is_no_model_call(
    rail: Rail,
    openai_model: SimulatedModel,
    start_playground: Callable[..., Origin],
) -> None:
    pages = start_playground(SITE)
    rail.resolve(SITE, pages)
    (rail.folder / "prompt.txt").write_text(FIRST)
    recorded = rail.record(*rail.python("five_turns.py", "prompt.txt"))
    asked = len(openai_model.asked)
    other = rail.python("five_turns.py", "prompt.txt", f"https://{SITE}")
    replayed = rail.replay(recorded.tape, *other, options=["--on-divergence=live", *rail.names])
    assert replayed.status == 1
    assert replayed.report["divergence"]["kind"] == "never_asked"
    assert pages.connections == 0
    assert len(openai_model.asked) == asked


def test_an_ignored_field_makes_the_change_equal(rail: Rail, five_turns: Recorded) -> None:
    rail.stop_origins()
    replayed = rail.replay(five_turns.tape, options=["--ignore=messages[5].content"])
    assert replayed.green, replayed.said
    assert replayed.output == five_turns.output
    rules = {rule["source"]: rule["used"] for rule in replayed.report["rules"]}
    assert rules["user"] == 3


def test_the_report_alone_stands_on_standard_output(rail: Rail, five_turns: Recorded) -> None:
    words = rail.rerail("replay", "--json", str(five_turns.tape))
    ran = rail.run(*words)
    assert ran.status == 1
    assert json.loads(ran.output)["divergence"]["step"] == 3
    assert "turn 1: " in ran.said
