"""`rerail diff` on tapes whose stories are known."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.testing.tapes import Recording


def answer(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def tell(path: Path, first: str, second: str) -> Path:
    tape = Recording.begin(path)
    tape.chat(1, "what now?")
    tape.reply(1, [answer(first)], headers="Content-Type: application/json\r\n")
    tape.chat(2, first)
    tape.reply(2, [answer(second)], headers="Content-Type: application/json\r\n")
    tape.end()
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return tell(tmp_path / "good.tape", "rename it", "done")


def test_the_same(good: Path, rerail: Callable[..., Any]) -> None:
    told = rerail("diff", good, good)
    assert (told.status, told.lines) == (0, ["the runs do not differ: 2 requests"])


def test_down_to_the_first_difference(
    good: Path, tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    bad = tell(tmp_path / "bad.tape", "remove it", "done")
    told = rerail("diff", good, bad)
    assert told.status == 1
    assert told.lines == [
        "the same up to there: 0 requests",
        "",
        "first difference: s1, good r1, bad r1",
        "  the same was asked, and the model answered otherwise",
        "  said[0].text",
        "    good  [-rename-] it",
        "    bad   {+remove+} it",
        "",
        "then 2 more places:",
        "  s2, good r2, bad r2: messages[0].content differs from the nearest recorded request, r2",
        "  s2, good r2, not in bad: never asked: POST https://api.openai.com/v1/chat/completions",
    ]


def test_as_json(good: Path, tmp_path: Path, rerail: Callable[..., Any]) -> None:
    bad = tell(tmp_path / "bad.tape", "rename it", "no")
    document = rerail("diff", good, bad, "--json").json
    assert not document["same"]
    assert [pair["bad"] for pair in document["pairs"]] == [1, 2]
    assert [parting["kind"] for parting in document["partings"]] == ["answered"]


def test_what_cannot_be_compared(good: Path, tmp_path: Path, rerail: Callable[..., Any]) -> None:
    rerail("diff", good, tmp_path / "no.tape").assert_complaint(2, "cannot open tape")
    (tmp_path / "text").write_text("no tape")
    rerail("diff", tmp_path / "text", good).assert_complaint(2, "cannot open tape")
    rerail("diff", good, good, "--ignore", "[").assert_complaint(2, "cannot read the path")


def test_where_a_field_parts_them_the_way_past_it_is_said(
    tmp_path: Path, rerail: Callable[..., Any]
) -> None:
    tapes = []
    for name in ("good", "bad"):
        tape = Recording.begin(tmp_path / f"{name}.tape")
        tape.chat(1, f"a {name} question")
        tape.reply(1, [answer("done")], headers="Content-Type: application/json\r\n")
        tape.end()
        tapes.append(tape.path)
    told = rerail("diff", *tapes)
    assert told.lines[-2] == "next:"
    words = shlex.split(told.lines[-1])[1:]
    assert words[-2:] == ["--ignore", "messages[0].content"]
    assert rerail(*words).status == 0
