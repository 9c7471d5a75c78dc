"""Real agents that failed, rewound to their best step with a hint: they go on and end well."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rerail.tape.reader import Tape
from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked
from tests.journeys.rail import Rail
from tests.llm.test_hint import CHECKS, HISTORIES
from tests.real_agents.chores import ERRORS, HINT, NOTES, WANTED
from tests.real_agents.test_agents import KINDS, AgentKind, record

WITH_TOOLS = [kind for kind in KINDS if kind.name != "aider"]
"""aider edits by words and has no tools to go astray with."""

APIS = {
    "chat": "openai.chat_completions",
    "messages": "anthropic.messages",
    "responses": "openai.responses",
}


@pytest.mark.parametrize("kind", WITH_TOOLS, ids=lambda kind: kind.name)
def test_an_agent_that_failed_goes_back_and_ends_well(
    rail: Rail,
    agents: Path,
    model_astray: SimulatedModel,
    need: Callable[[Path], Path],
    kind: AgentKind,
) -> None:
    recorded = record(rail, need(agents / kind.program), kind)
    before = len(model_astray.asked)
    fork = rail.folder.parent / "fork.tape"
    words = ["--to", "best", *ERRORS, "--hint", HINT, "-o", str(fork), "--json"]
    ran = rail.run(*rail.rerail("rewind", *rail.names, str(recorded.tape), *words), seconds=180)
    assert ran.status == 0, ran.said
    report = json.loads(ran.output)
    assert report["ended_well"]
    assert (report["check"]["errors_at_step"], report["check"]["errors_at_end"]) == (1, 0)
    assert report["files_at_step"]["differs"] == []
    live = [asked for asked in model_astray.asked[before:] if asked.tools]
    assert len(live) == report["live"]["turns"] == 2
    _check_the_hint_has_its_place(live)
    rail.stop_origins()
    _check_the_fork_stands_alone(rail, recorded.tape, fork, report["step"])


def test_an_agent_that_edits_by_words_goes_back_and_ends_well(
    rail: Rail,
    agents: Path,
    model_astray_by_words: SimulatedModel,
    need: Callable[[Path], Path],
) -> None:
    """aider: told of a failed test, it asks again. Its commits have no place here: see the docs."""
    aider = next(kind for kind in KINDS if kind.name == "aider")
    words = ["--no-auto-commits", *aider.arguments]
    words[words.index("date")] = f"printf '{WANTED}' | cmp - {NOTES}"
    kind = replace(aider, arguments=tuple(words))
    recorded = record(rail, need(agents / kind.program), kind)
    before = len(model_astray_by_words.asked)
    fork = rail.folder.parent / "fork.tape"
    options = ["--to", "best", *ERRORS, "--hint", HINT, "-o", str(fork), "--json"]
    ran = rail.run(*rail.rerail("rewind", *rail.names, str(recorded.tape), *options), seconds=180)
    assert ran.status == 0, ran.said
    report = json.loads(ran.output)
    assert (report["check"]["errors_at_step"], report["check"]["errors_at_end"]) == (1, 0)
    live = model_astray_by_words.asked[before:]
    assert all(sum(m.text.count(HINT) for m in asked.messages) == 1 for asked in live)
    rail.stop_origins()
    _check_the_fork_stands_alone(rail, recorded.tape, fork, report["step"])


def _check_the_hint_has_its_place(live: list[Asked]) -> None:
    histories: list[list[Any]] = []
    for asked in live:
        assert sum(message.text.count(HINT) for message in asked.messages) == 1
        if "previous_response_id" not in asked.body:
            api = APIS[asked.api]
            history = asked.body[HISTORIES[api][0]]
            CHECKS[api](history)
            histories.append(history)
    assert HINT in json.dumps(histories[0][-1])
    place = len(histories[0]) - 1
    assert all(HINT in json.dumps(history[place]) for history in histories)


def _check_the_fork_stands_alone(rail: Rail, parent: Path, fork: Path, step: int) -> None:
    with Tape.open(parent) as source, Tape.open(fork) as tape:
        named = tape.run.parent
        assert named is not None
        assert (named.tape_id, named.step, named.relation) == (source.id, step, "fork")
    replayed = rail.replay(fork, seconds=180)
    assert replayed.green, replayed.said
    assert rail.reached == 0
    shown = rail.run(*rail.rerail("show", str(fork), NOTES, "--files", "end"))
    assert shown.text == WANTED
