"""`rerail steps` on tapes made by hand: a chat in three steps, and what cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.tapes import CHAT, Recording
from tests.cli.conftest import Result

MakeTape = Callable[..., Recording]
Rerail = Callable[..., Result]

ASKED = {"role": "user", "content": "How many\nlines?"}
CALL = {"id": "c1", "function": {"name": "count", "arguments": '{"path": "a.txt"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "two"}


def ask(tape: Recording, exchange: int, *messages: dict[str, Any]) -> None:
    body = json.dumps({"model": "gpt", "messages": messages}).encode()
    tape.request(exchange, body, method="POST", target=CHAT, host="api.openai.com")


def answer(tape: Recording, exchange: int, message: dict[str, Any], finish: str) -> None:
    document = {
        "model": "gpt-1",
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1200, "completion_tokens": 5},
    }
    kind = "Content-Type: application/json\r\n"
    tape.reply(exchange, [json.dumps(document).encode()], headers=kind)


@pytest.fixture
def chat(make_tape: MakeTape) -> Path:
    tape = make_tape()
    ask(tape, 1, ASKED)
    answer(tape, 1, CALLED, "tool_calls")
    ask(tape, 2, ASKED, CALLED, TOLD)
    answer(tape, 2, {"content": "There are two."}, "stop")
    tape.chat(3)
    tape.end()
    return tape.path


def test_each_step_has_what_is_new_and_what_was_said(chat: Path, rerail: Rerail) -> None:
    assert rerail("steps", chat).lines == [
        "s1  +3 ms  3 ms  gpt → gpt-1  1 200 in, 5 out  tool_calls",
        "  user      How many ⏎ lines?",
        '  →         count(path="a.txt")',
        "s2  +8 ms  3 ms  gpt → gpt-1  1 200 in, 5 out  stop",
        "  ←         two",
        "  assistant There are two.",
        "s3  +13 ms  no end  m",
        "  user      hello",
        "            (no answer is on the tape)",
    ]


@pytest.mark.parametrize("step", ["1", "s1"])
def test_one_step_has_its_texts_whole(chat: Path, rerail: Rerail, step: str) -> None:
    assert rerail("steps", chat, step).lines[1:3] == ["  user      How many", " " * 12 + "lines?"]


def test_as_json_every_turn_names_its_evidence(chat: Path, rerail: Rerail) -> None:
    turns = rerail("steps", chat, "--json").json["turns"]
    assert [(turn["step"], turn["exchange"]) for turn in turns] == [(1, 1), (2, 2), (3, 3)]
    assert turns[1]["new_messages"] == [
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_call_response",
                    "call_id": "c1",
                    "response": "two",
                    "is_error": False,
                }
            ],
        }
    ]
    assert turns[0]["message"]["parts"] == [
        {"type": "tool_call", "call_id": "c1", "name": "count", "arguments": {"path": "a.txt"}}
    ]
    assert turns[2]["message"] is None


def test_text_of_a_stranger_moves_no_cursor(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    ask(tape, 1, {"role": "us\x1b[2Jer", "content": "a\x1b[2Jb"})
    tape.end()
    for words in ([], ["1"], ["--json"]):
        assert "\x1b" not in rerail("steps", tape.path, *words).out


def test_a_request_that_is_no_json_says_so(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1, b"{", method="POST", target=CHAT)
    tape.reply(1, [b"not json"])
    tape.end()
    told = rerail("steps", tape.path).lines[1:]
    assert told == [
        " " * 12 + "(the request cannot be read as its API says)",
        " " * 12 + "(no answer is on the tape)",
    ]


@pytest.mark.parametrize(
    ("step", "what", "hint"),
    [
        ("r1", "`r1` is no number of a step", "write 4 or s4"),
        ("x", "`x` is no number", "s4 for a step"),
        ("9", "there is no step s9", "it has steps s1 to s3"),
    ],
)
def test_a_step_that_is_not_there(
    chat: Path, rerail: Rerail, step: str, what: str, hint: str
) -> None:
    rerail("steps", chat, step).assert_complaint(2, what, hint)


# Scores.


@pytest.fixture
def with_files(make_tape: MakeTape, tmp_path: Path) -> Path:
    """Two steps: one error, then none; and two errors at the end."""
    tape, folder = make_tape("files.tape"), tmp_path / "folder"
    folder.mkdir()
    tape.snapshot(folder, "start")
    for exchange, (text, answered) in enumerate([("error\n", CALLED), ("", {"content": "!"})], 1):
        ask(tape, exchange, ASKED)
        (folder / "log").write_text(text)
        tape.snapshot(folder, "step", exchange_id=exchange)
        answer(tape, exchange, answered, "stop")
    (folder / "log").write_text("error\nerror\n")
    tape.snapshot(folder, "end")
    tape.end()
    return tape.path


CHECK = ("--trust", "--check", "cat log; test ! -s log", "--count", "error")


def test_the_files_of_a_step_stand_with_it(with_files: Path, rerail: Rerail) -> None:
    lines = rerail("steps", with_files).lines
    assert [line for line in lines if line.startswith("  files")] == [
        "  files     + log",
        "  files     ~ log",
    ]
    turns = rerail("steps", with_files, "--json").json["turns"]
    assert turns[0]["files"] == {"added": ["log"], "changed": [], "removed": []}
    assert "score" not in turns[0]


def test_a_check_scores_each_step(with_files: Path, rerail: Rerail) -> None:
    result = rerail("steps", with_files, *CHECK)
    assert result.status == 0
    assert result.err.startswith("rerail: the check was ")
    rows = [line.split("\t") for line in result.lines]
    assert [[row[0], *row[3:]] for row in rows] == [
        ["s1", "1200", "5", "count", "+ log", "1", ""],
        ["s2", "1200", "5", "", "~ log", "0", "best"],
        ["end", "", "", "", "~ log", "2", ""],
    ]


def test_without_a_pattern_the_status_is_the_score(with_files: Path, rerail: Rerail) -> None:
    rows = [line.split("\t") for line in rerail("steps", with_files, *CHECK[:-2]).lines]
    assert [row[-2] for row in rows] == ["status 1", "well", "status 1"]


def test_one_step_shows_what_the_check_says(with_files: Path, rerail: Rerail) -> None:
    lines = rerail("steps", with_files, "1", *CHECK).lines
    assert lines[-2:] == ["  check     1 error, status 1", " " * 12 + "error"]


def test_scores_as_json(with_files: Path, rerail: Rerail) -> None:
    told = rerail("steps", with_files, "--json", *CHECK).json
    kept = told["check"].pop("containment")
    assert told["check"] == {"command": CHECK[2], "count": "error", "best": 2}
    assert kept["level"] in ("contained", "no network", "not contained")
    assert told["turns"][0]["score"] == {
        "status": 1, "errors": 1, "why": None, "output": "error\n", "refused": []
    }  # fmt: skip
    assert told["end"]["score"]["errors"] == 2


def test_a_check_without_end_is_ended_and_the_mend_is_named(
    with_files: Path, rerail: Rerail
) -> None:
    slow = ("--trust", "--check", "sleep 600", "--check-limit", "0.2")
    result = rerail("steps", with_files, *slow)
    assert [line.split("\t")[-2] for line in result.lines] == ["? (not done within 0.2 s)"] * 3
    assert "3 scores came too late; --check-limit gives more time" in result.err
    words = ["rewind", with_files, "--to", "best", "--hint", "x", *slow]
    rerail(*words).assert_complaint(
        2, "no step has a score: not done within 0.2 s", "--check-limit"
    )


def test_a_check_that_is_let_free_is_told_so(with_files: Path, rerail: Rerail) -> None:
    result = rerail("steps", with_files, *CHECK, "--uncontained")
    assert result.err == "rerail: the check was not contained, as was asked\n"
    alone = rerail("steps", with_files, "--uncontained")
    alone.assert_complaint(2, "--uncontained goes with --check", "--check")


def test_a_check_that_cannot_be(with_files: Path, chat: Path, rerail: Rerail) -> None:
    tape = with_files
    rerail("steps", tape, "--count", "x").assert_complaint(2, "goes with --check", "--check")
    rerail("steps", tape, "--check", "x").assert_complaint(2, "not recorded by you", "--trust")
    none = rerail("steps", tape, "--trust", "--check", "no-such-check")
    none.assert_complaint(2, "`no-such-check` does not start at any step", "run by sh")
    rerail("steps", chat, "--trust", "--check", "true").assert_complaint(2, "no snapshots", "wo")


def test_what_is_nested_too_deep_to_be_shown_is_said_and_no_traceback(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    made = make_tape()
    made.chat(1)
    arguments = '{"a":' + "[" * 800 + "]" * 800 + "}"
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    reply = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    made.reply(1, [json.dumps(reply).encode()])
    made.end()
    told = rerail("steps", made.path, "--json")
    told.assert_complaint(1, "nested deeper than can be shown", "--raw")
