"""An agent that failed goes back to a step, is given a hint, goes on live and ends well."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape.plane_records import BudgetChanged
from rerail.tape.reader import Tape
from rerail.tape.records import ClockJumped, HttpRequestEdited
from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import SimulatedModel
from rerail.testing.model.conversation import Asked, Reply, ToolCall
from tests.journeys.rail import Rail, Ran
from tests.llm.test_hint import CHECKS

pytestmark = pytest.mark.journey

HINT = "The word is: right."
WRONG = ("wrong wrong wrong", "wrong", "wrong wrong", "wrong wrong")
TURNS = len(WRONG)
CHECK = ("--check", "tr ' ' '\\n' < word.txt", "--count", "wrong")
HOSTS = {"openai": "api.openai.com", "anthropic": "api.anthropic.com"}
APIS = {"openai": "openai.chat_completions", "anthropic": "anthropic.messages"}


def policy(asked: Asked) -> Reply:
    """Writes a wrong word in each of its turns, until it is told better."""
    results = sum(message.role == "tool" for message in asked.messages)
    if results >= TURNS:
        return Reply("I am done.")
    told = any(HINT in message.text for message in asked.messages)
    text = "right" if told else WRONG[results]
    return Reply("I write.", (ToolCall("write", {"text": text}),))


@pytest.fixture
def sdk() -> str:
    """The SDK of a test that names none."""
    return "openai"


@pytest.fixture
def model(
    rail: Rail,
    sdk: str,
    start_model: Callable[..., SimulatedModel],
    authority: CertificateAuthority,
) -> SimulatedModel:
    started = start_model(policy, tls=authority.leaf(HOSTS[sdk]))
    rail.resolve(HOSTS[sdk], started.origin)
    return started


def rewind(rail: Rail, *words: str) -> tuple[Ran, dict[str, Any]]:
    ran = rail.run(*rail.rerail("rewind", "--json", *rail.names, *words))
    return ran, json.loads(ran.output) if ran.output else {}


@pytest.mark.parametrize("sdk", HOSTS)
def test_a_failed_run_is_rewound_and_ends_well(rail: Rail, sdk: str, model: SimulatedModel) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    assert recorded.status == 1, recorded.said
    asked_before = len(model.asked)
    ran, report = rewind(rail, str(recorded.tape), "--to", "best", *CHECK, "--hint", HINT)
    assert ran.status == 0, ran.said
    assert report["ended_well"]
    assert (report["step"], report["check"]["errors_at_step"]) == (3, 1)
    assert report["hint"] == HINT
    assert report["chosen"] == f"the last of {TURNS + 1} steps with the fewest errors (1)"
    assert report["check"]["errors_at_end"] == 0
    assert report["replay"]["counts"]["matched_model_calls"] == 2
    beside = report["against"]
    assert (beside["recorded"]["ended"], beside["rewound"]["ended"]) == ("status 1", "status 0")
    assert (beside["recorded"]["errors"], beside["rewound"]["errors"]) == (2, 0)
    assert beside["differs"] == ["~ word.txt"]
    known = [(one["step"], one["errors"]) for one in report["check"]["scores"]]
    assert known == [(1, None), (2, 3), (3, 1), (4, 2), (5, 2), (None, 2)]
    live = model.asked[asked_before:]
    assert len(live) == report["live"]["turns"] == TURNS + 1 - 2
    assert report["live"]["input_tokens"] > 0
    _check_every_request_has_the_hint_at_its_place(sdk, live)
    fork = rail.folder / "run.s3.tape"
    _check_the_fork_names_its_parent_and_keeps_both_requests(rail, fork, recorded.tape, live)
    steps = json.loads(rail.run(*rail.rerail("steps", "--json", str(fork))).output)["turns"]
    put_in = ["".join(part["content"] for m in turn["put_in"] for part in m["parts"])
              for turn in steps]  # fmt: skip
    assert put_in == ["", "", *[HINT] * len(live)]
    rail.stop_origins()
    replayed = rail.replay(fork)
    assert replayed.green, replayed.said
    assert "the last word is right" in replayed.text
    assert rail.reached == 0


def _check_every_request_has_the_hint_at_its_place(sdk: str, live: list[Asked]) -> None:
    histories = [list(asked.body["messages"]) for asked in live]
    for history in histories:
        CHECKS[APIS[sdk]](history)
        assert json.dumps(history).count(HINT) == 1
        assert history[: len(histories[0])] == histories[0]
    assert HINT in json.dumps(histories[0][-1])


def _check_the_fork_names_its_parent_and_keeps_both_requests(
    rail: Rail, fork: Any, parent: Any, live: list[Asked]
) -> None:
    with Tape.open(parent) as source, Tape.open(fork) as tape:
        assert tape.run.parent is not None
        assert (tape.run.parent.tape_id, tape.run.parent.step) == (source.id, 3)
        assert tape.run.parent.relation == "fork"
        edited = [event for event in tape.events() if isinstance(event, HttpRequestEdited)]
        assert [json.loads(tape.blob(event.content)) for event in edited] == [
            asked.body for asked in live
        ]
    for step in ("s3", "s4"):
        shown = rail.run(*rail.rerail("show", str(fork), step, "--raw", "--request"))
        assert HINT not in shown.text


@pytest.mark.usefixtures("model")
def test_what_came_of_it_is_told_beside_the_recorded_run(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    words = ["rewind", *rail.names, str(recorded.tape), "--to", "best", *CHECK, "--hint", HINT]
    ran = rail.run(*rail.rerail(*words))
    assert ran.status == 0, ran.said
    assert "scores: s1 ?, s2 3, s3 1 <, s4 2, s5 2, end 2" in ran.said
    assert "  errors       2 " in ran.said
    assert f"rerail diff {recorded.tape} {rail.folder}/run.s3.tape" in ran.said


@pytest.mark.usefixtures("model")
def test_a_budget_of_turns_ends_the_run(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    ran, report = rewind(rail, str(recorded.tape), "--to", "2", "--hint", HINT, "--turns", "1")
    assert ran.status == 1
    assert report["live"]["turns"] == 1
    assert not report["ended_well"]
    assert "the 1 turn is used up that this rewound run was given" in ran.said
    with Tape.open(rail.folder / "run.s2.tape") as fork:
        events = list(fork.events())
        parent = fork.run.parent
    assert parent is not None
    assert parent.turns == 1
    budget = [event for event in events if isinstance(event, BudgetChanged)]
    assert [(one.used, one.limit, one.spent) for one in budget] == [(1, 1, False), (1, 1, True)]
    (jumped,) = (event for event in events if isinstance(event, ClockJumped))
    assert jumped.before < jumped.after <= jumped.wall


@pytest.mark.usefixtures("model")
def test_what_is_made_out_of_a_tape_never_takes_its_place(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk), tape="run-1.tape")
    before = recorded.tape.read_bytes()
    for words in (
        ["rewind", *rail.names, "run-1.tape", "--to", "s3", "-o", "run-1.tape"],
        ["rewind", *rail.names, "run-1.tape", "--to", "s3", "-n", "2", "-o", "run.tape"],
        ["replay", "run-1.tape", "-o", "./run-1.tape"],
    ):
        ran = rail.run(*rail.rerail(*words, "--force"))
        assert ran.status == 2
        assert "is the tape that it comes from" in ran.said
        assert recorded.tape.read_bytes() == before


@pytest.mark.usefixtures("model")
def test_without_a_hint_the_model_is_just_asked_again(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    ran, report = rewind(rail, str(recorded.tape), "--to", "last")
    assert ran.status == 1
    assert (report["step"], report["live"]["turns"]) == (TURNS + 1, 1)
    assert report["hint_place"] is None


@pytest.mark.usefixtures("model")
def test_a_run_that_does_not_come_to_the_step_says_where_it_left(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    other = rail.python("mender.py", "anthropic")
    words = [str(recorded.tape), "--to", "3", "--hint", HINT, "--", *other]
    ran = rail.run(*rail.rerail("rewind", *rail.names, *words))
    assert ran.status == 1
    assert "did not come to s3" in ran.said
    assert "is not on the tape" in ran.said


@pytest.mark.parametrize("sdk", HOSTS)
def test_a_fork_of_a_fork_keeps_what_was_put_into_the_first(
    rail: Rail, sdk: str, model: SimulatedModel
) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    rewind(rail, str(recorded.tape), "--to", "2", "--hint", "Write slowly.")
    before = len(model.asked)
    ran, report = rewind(rail, str(rail.folder / "run.s2.tape"), "--to", "4", "--hint", HINT)
    assert ran.status == 0, ran.said
    assert [(edit["step"], edit["text"]) for edit in report["edits"]] == [
        (2, "Write slowly."), (4, HINT)
    ]  # fmt: skip
    first = model.asked[before].body["messages"]
    for asked in model.asked[before:]:
        history = asked.body["messages"]
        CHECKS[APIS[sdk]](history)
        assert history[: len(first)] == first
        said = json.dumps(history)
        assert (said.count("Write slowly."), said.count(HINT)) == (1, 1)
        assert said.index("Write slowly.") < said.index(HINT)
    rail.stop_origins()
    replayed = rail.replay(rail.folder / "run.s2.s4.tape")
    assert replayed.green, replayed.said
    drawn = rail.run(*rail.rerail("show", str(rail.folder)))
    assert "fork of run.s2.tape at s4" in drawn.text


@pytest.mark.parametrize("sdk", HOSTS)
def test_a_tool_that_answers_otherwise(rail: Rail, sdk: str, model: SimulatedModel) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    before = len(model.asked)
    answer = json.dumps({"write": f"No. {HINT}"})
    ran, report = rewind(rail, str(recorded.tape), "--to", "3", "--answer", answer)
    assert ran.status == 0, ran.said
    for asked in model.asked[before:]:
        CHECKS[APIS[sdk]](asked.body["messages"])
        results = [message.text for message in asked.messages if message.role == "tool"]
        assert results[:2] == [f"wrote {WRONG[0]}", f"No. {HINT}"]
    assert [edit["kind"] for edit in report["edits"]] == ["answer"]


def test_a_patched_request(rail: Rail, model: SimulatedModel, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    before = len(model.asked)
    note = {"role": "user", "content": HINT}
    patch = [
        {"op": "add", "path": "/messages/-", "value": note},
        {"op": "replace", "path": "/model", "value": "gpt-5"},
    ]
    (rail.folder / "better.jsonpatch").write_text(json.dumps(patch))
    ran, _ = rewind(rail, str(recorded.tape), "--to", "3", "--edit-request", "better.jsonpatch")
    assert ran.status == 0, ran.said
    place = len(model.asked[before].body["messages"]) - 1
    for asked in model.asked[before:]:
        assert (asked.body["model"], asked.body["messages"][place]) == ("gpt-5", note)


@pytest.fixture
def next_model(
    rail: Rail, start_model: Callable[..., SimulatedModel], authority: CertificateAuthority
) -> Callable[[], SimulatedModel]:
    """`next_model()` takes the name over; it knows nothing of what was asked of the one before."""

    def start() -> SimulatedModel:
        started = start_model(policy, tls=authority.leaf(HOSTS["openai"]))
        rail.resolve(HOSTS["openai"], started.origin)
        return started

    return start


def test_a_session_on_a_websocket_goes_on_live_with_its_whole_history(
    rail: Rail, next_model: Callable[[], SimulatedModel]
) -> None:
    first = next_model()
    recorded = rail.record(*rail.python("mender.py", "session"))
    assert (recorded.status, len(first.asked)) == (1, TURNS + 1), recorded.said
    second = next_model()
    ran, report = rewind(rail, str(recorded.tape), "--to", "best", *CHECK, "--hint", "Slowly.")
    assert (ran.status, report["step"]) == (1, 3), ran.said
    assert len(first.asked) == TURNS + 1
    assert len(second.asked) == report["live"]["turns"] == TURNS + 1 - 2
    _check_the_first_is_whole_and_hinted(second.asked, "Slowly.")
    steps = json.loads(rail.run(*rail.rerail("steps", "--json", "run.s3.tape")).output)["turns"]
    put_in = [[m["parts"][0]["content"] for m in turn["put_in"]] for turn in steps]
    assert put_in == [[], [], ["Slowly."], [], []]
    third = next_model()
    ran, report = rewind(rail, str(rail.folder / "run.s3.tape"), "--to", "4", "--hint", HINT)
    assert ran.status == 0, ran.said
    _check_the_first_is_whole_and_hinted(third.asked, HINT)
    texts = [message.text for message in third.asked[0].messages]
    assert texts.index("Slowly.") == texts.index(HINT) - 4
    rail.stop_origins()
    for fork in ("run.s3.tape", "run.s3.s4.tape"):
        assert rail.replay(rail.folder / fork).report["verdict"]["green"]
    assert rail.reached == 0


def test_a_history_that_no_provider_has_any_more_is_put_in(
    rail: Rail, next_model: Callable[[], SimulatedModel]
) -> None:
    next_model()
    recorded = rail.record(*rail.python("mender.py", "continued"))
    live = next_model()
    ran, _ = rewind(rail, str(recorded.tape), "--to", "3", "--hint", HINT)
    assert ran.status == 0, ran.said
    _check_the_first_is_whole_and_hinted(live.asked, HINT)
    texts = [message.text for message in live.asked[0].messages if message.role == "tool"]
    assert texts == [f"wrote {text}" for text in WRONG[:2]]


def _check_the_first_is_whole_and_hinted(live: list[Asked], hint: str) -> None:
    whole, *further = [asked.body for asked in live]
    CHECKS["openai.responses"](whole["input"])
    assert "previous_response_id" not in whole
    assert whole["input"][-1]["content"][0]["text"] == hint
    for body in further:
        assert body["previous_response_id"]
        assert hint not in json.dumps(body)
    for asked in live:
        assert [message.text for message in asked.messages].count(hint) == 1


def test_a_budget_ends_a_session_with_an_error_that_it_reads(
    rail: Rail, next_model: Callable[[], SimulatedModel]
) -> None:
    next_model()
    recorded = rail.record(*rail.python("mender.py", "session"))
    live = next_model()
    ran, report = rewind(rail, str(recorded.tape), "--to", "2", "--turns", "1")
    assert (ran.status, report["live"]["turns"], len(live.asked)) == (1, 1, 1)
    assert "the model refused: rerail refused this request: the 1 turn is used up" in ran.said


@pytest.mark.usefixtures("model")
def test_files_that_came_otherwise_are_put_in_place(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk), options=["-e", "MOOD=good"])
    words = (str(recorded.tape), "--to", "3", "--hint", HINT, "-e", "MOOD=bad")
    ran, report = rewind(rail, *words)
    assert report["files_at_step"]["differs"] == ["mood.txt"]
    assert "the mood is bad" in ran.said
    ran, report = rewind(rail, *words, "--restore-workspace")
    assert ran.status == 0, ran.said
    assert report["files_at_step"] == {
        "differing": 1, "differs": ["mood.txt"], "put_in_place": True
    }  # fmt: skip
    assert "the mood is good" in ran.said
    fork = rail.folder / "run.s3-2.tape"
    for moment in ("s3", "end"):
        shown = rail.run(*rail.rerail("show", str(fork), "mood.txt", "--files", moment))
        assert shown.text == "good"
    rail.stop_origins()
    replayed = rail.replay(fork)
    assert replayed.green, replayed.said
    assert "the mood is good" in replayed.text
    again = rail.replay(fork, options=["-o", str(rail.folder / "again.tape")])
    assert again.green, again.said
    assert "the mood is good" in rail.replay(rail.folder / "again.tape").text


@pytest.mark.usefixtures("model")
def test_several_forks_side_by_side(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    words = (str(recorded.tape), "--to", "best", *CHECK, "--hint", HINT, "--turns", "4")
    ran, told = rewind(rail, *words, "-n", "2")
    assert ran.status == 0, ran.said
    assert (told["step"], len(told["forks"])) == (3, 2)
    for number, fork in enumerate(told["forks"], start=1):
        assert fork["tape"].endswith(f"run.s3-{number}.tape")
        assert fork["report"]["ended_well"]
        assert fork["report"]["check"]["errors_at_end"] == 0
        assert b"the last word is right" in Path(fork["log"]).read_bytes()
    ids = {fork["report"]["fork"]["id"] for fork in told["forks"]}
    assert len(ids) == 2


@pytest.mark.usefixtures("model")
def test_forks_that_end_badly_are_told_in_a_table(rail: Rail, sdk: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    words = (str(recorded.tape), "--to", "last", "-n", "2", "-o", str(rail.folder / "again.tape"))
    other = ("--", *rail.python("mender.py", "anthropic"))
    rail.run(*rail.rerail("rewind", *rail.names, *words))
    ran = rail.run(*rail.rerail("rewind", *rail.names, *words, *other))
    assert ran.status == 1
    assert "2 forks at s5; 0 ended well" in ran.said
    assert f"next:\n  rerail show {rail.folder}\n" in ran.said
    rows = [line.split("\t") for line in ran.text.splitlines()]
    assert [Path(row[0]).name for row in rows] == ["again-3.tape", "again-4.tape"]
    assert [row[1] for row in rows] == ["did not come to s5"] * 2


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--to", "9"], "there is no step s9"),
        (["--to", "better"], "`better` is no step"),
        (["--to", "best"], "needs a check"),
        (["--to", "best", "--check", "no-such-check"], "does not start at any step"),
        (["--to", "best", "--check", "exit 3", "--count", "x"], "no step has a score"),
        (["--to", "1", "--hint", "@nowhere"], "cannot read the hint in nowhere"),
        (["--to", "3", "--answer", '{"wash": ""}'], "at s3, the request has no result of `wash`"),
        (["--to", "3", "--answer", "yes"], "the answer is not JSON"),
        (["--to", "3", "--edit-request", "nowhere"], "cannot read the patch in nowhere"),
        (["--to", "1", "--restore-workspace", "--workspace", "in-place"], "makes none"),
        (["--to", "1", "-n", "2", "--workspace", "in-place"], "-n needs a copy"),
        (["--to", "1", "-n", "2", "--answer", '{"wash": ""}'], "at s1, the request has no result"),
        (["--to", "1", "-n", "101"], "1<=x<=100"),
        (["--to", "1", "--hint", "@/dev/zero"], "the hint is longer than 1,048,576 bytes"),
        (["--to", "1", "--edit-request", "whole.json"], "something else than an object"),
        (["--to", "1", "--allow", "everything"], "`everything` names no requests"),
    ],
)
def test_what_cannot_be_rewound_says_so(rail: Rail, sdk: str, words: list[str], what: str) -> None:
    recorded = rail.record(*rail.python("mender.py", sdk))
    (rail.folder / "whole.json").write_text('[{"op": "replace", "path": "", "value": 5}]')
    ran = rail.run(*rail.rerail("rewind", str(recorded.tape), *words))
    assert ran.status == 2
    assert what in ran.said
    assert "hint: " in ran.said
