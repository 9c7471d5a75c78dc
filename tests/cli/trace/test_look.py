"""`rerail trace TAPE`: one screen on a failed run, from tapes that nobody made a case of."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape.records import ProcessEnded, ProcessStarted, RunEnded
from rerail.testing.plane_tapes import PlaneTape
from rerail.testing.tapes import CHAT, Recording

Verb = Callable[..., Any]


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mode, path.read_bytes()) for path in found}


def commands(said: str) -> list[list[str]]:
    """The lines to paste, without the word `rerail`."""
    lines = (line.strip() for line in said.splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("rerail ")]


def test_the_first_screen_answers_and_changes_nothing(tape: Path, rerail: Verb) -> None:
    before = files(tape.parent)
    done = rerail("trace", tape)
    assert done.status == 0
    lines = done.out.splitlines()
    first = lines.index("What broke first?")
    assert lines[first + 1].startswith("  check: the checker loaded baseline 11 instead of")
    assert "  as sure as the records: two of them contradict each other" in done.out
    assert "  contained: no attempt is on record" in done.out
    assert "repair the checker and recompute the verdict" in done.out
    assert files(tape.parent) == before


def test_every_show_that_it_offers_opens_something(tape: Path, rerail: Verb) -> None:
    offered = [words for words in commands(rerail("trace", tape).out) if words[0] == "show"]
    assert offered
    for words in offered:
        assert rerail(*words).status == 0


def test_a_case_is_looked_at_as_its_tape_is(case: Path, rerail: Verb) -> None:
    looked = rerail("trace", case, "--json").json
    assert looked["classification"] == "check"
    assert looked["retry"] == "no", "the case holds its task"
    assert ["trace", "report", str(case)] in [
        shlex.split(one["command"])[1:] for one in looked["next"]
    ]


def test_an_action_that_may_have_come_through_comes_first(tmp_path: Path, rerail: Verb) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape")
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("unknown", after=None)
    tape.end("unresolved")
    looked = rerail("trace", tmp_path / "run.tape", "--json").json
    assert looked["safety"]["state"] in ("unresolved", "partially applied")
    assert looked["next"][0]["command"].startswith("rerail reconcile ")


def test_of_an_ordinary_run_it_says_what_failed_last_and_guesses_nothing(
    tmp_path: Path, rerail: Verb
) -> None:
    run = Recording.begin(tmp_path / "run.tape")
    run.event(ProcessStarted, process_id=2, argv=["pytest", "-q"], cwd="/")
    run.event(ProcessEnded, process_id=2, status=1)
    run.event(RunEnded, status=1)
    run.writer.close()
    done = rerail("trace", tmp_path / "run.tape")
    assert "  not known\n" in done.out
    assert "the last command of the agent that failed: pytest -q, status 1" in done.out
    assert f"rerail show {tmp_path / 'run.tape'} p2" in done.out
    assert "nothing was noticed, which does not say that nothing is wrong" in done.out


def told(run: Recording, number: int, *messages: dict[str, Any], says: dict[str, Any]) -> None:
    """A model call: what it was told, and what it says."""
    headers = "Content-Type: application/json\r\n"
    body = json.dumps({"model": "m", "messages": messages}).encode()
    run.request(number, body, method="POST", target=CHAT, headers=headers, host="api.openai.com")
    choice = {"index": 0, "message": {"role": "assistant"} | says, "finish_reason": "stop"}
    answer = json.dumps({"id": "x", "model": "m", "choices": [choice]}).encode()
    run.reply(number, [answer], headers=headers)


def test_of_an_agents_slip_it_goes_back_to_the_step_that_said_it(
    tmp_path: Path, rerail: Verb
) -> None:
    run = Recording.begin(tmp_path / "run.tape")
    function = {"name": "run_tests", "arguments": "{}"}
    call = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    asked = {"role": "user", "content": "Mend it; the tests must pass."}
    told(run, 1, asked, says=call)
    failed = {"role": "tool", "tool_call_id": "c1", "content": "Error: 3 tests failed"}
    said = {"role": "assistant"} | call
    told(run, 2, asked, said, failed, says={"content": "All tests pass now."})
    run.event(RunEnded, status=0)
    run.writer.close()
    looked = rerail("trace", tmp_path / "run.tape", "--json").json
    assert looked["classification"] == "agent", looked["sure"]
    assert looked["sure"][0].startswith("likely: it is a reading of words")
    assert f'rerail rewind {tmp_path / "run.tape"} --to s2 --hint "…"' in [
        one["command"] for one in looked["next"]
    ]


def test_what_is_no_tape_and_no_step_is_said(
    tmp_path: Path, rerail: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rerail("trace", "no.tape").assert_complaint(2, "cannot open tape no.tape")
    rerail("trace", "diagnos").assert_complaint(2, "no step of `rerail trace` `diagnos`")
    rerail("trace", "look", "RUN-1").assert_complaint(2, "no tape of run RUN-1")


def test_the_state_of_a_target_is_not_taken_from_the_runner(tmp_path: Path, rerail: Verb) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape")
    tape.agents_plane()
    tape.end("applied")
    assert rerail("trace", tmp_path / "run.tape", "--json").json["safety"]["state"] == "unresolved"


def test_of_a_run_that_ended_well_nothing_is_made(tmp_path: Path, rerail: Verb) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape")
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act()
    tape.end("applied")
    done = rerail("trace", tmp_path / "run.tape")
    assert "nothing that the records show: the run ended well" in done.out
    assert "applied: attempt T-1 was accepted, and the target shows it" in done.out
    assert "'What did RUN-8894 do?'" in done.out


def test_that_an_agent_ended_with_0_is_its_own_word(tmp_path: Path, rerail: Verb) -> None:
    """The last that failed, and the last words, are what somebody reads who knows it better."""
    run = Recording.begin(tmp_path / "run.tape")
    run.event(ProcessStarted, process_id=2, argv=["make", "check"], cwd="/")
    run.event(ProcessEnded, process_id=2, status=2)
    run.chat(1)
    run.reply(1, [b"{}"])
    run.event(RunEnded, status=0)
    run.writer.close()
    done = rerail("trace", tmp_path / "run.tape")
    assert "it ended with status 0, which is its own word" in done.out
    assert "the last command of the agent that failed: make check, status 2" in done.out
    assert f"rerail steps {tmp_path / 'run.tape'}" in done.out


def test_a_target_that_said_no_needs_no_reconciling(tmp_path: Path, rerail: Verb) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape")
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("rejected", after="limit 3")
    tape.end("rejected")
    looked = rerail("trace", tmp_path / "run.tape", "--json").json
    assert looked["safety"]["state"] == "contained"
    assert looked["next"][0]["why"].startswith("every attempt's outcome is known")
