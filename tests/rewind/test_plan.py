"""What a rewind will change, from what is on the tape: earlier rewinds' edits, tried beforehand."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import UserError
from rerail.rewind.plan import planned
from rerail.tape.reader import Tape
from rerail.tape.records import Edit, Parent
from rerail.testing.tapes import CHAT, Recording

API = "openai.chat_completions"
TURNS = [{"role": "user", "content": f"turn {number}"} for number in range(6)]
Fork = Callable[..., Tape]


def hint(step: int, text: str) -> Edit:
    return Edit(step=step, kind="hint", text=text)


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Fork]:
    """`fork(edit, …)`: three model calls of a growing history, and the edits of its parent."""
    with ExitStack() as stack:

        def make(*edits: Edit) -> Tape:
            path = tmp_path / "fork.tape"
            parent = Parent(tape_id="sha256:0", step=2, relation="fork", edits=list(edits))
            recording = Recording.begin(path, parent=parent)
            for number in (1, 2, 3):
                body = json.dumps({"model": "m", "messages": TURNS[: number * 2 - 1]}).encode()
                recording.request(number, body, method="POST", target=CHAT, host="api.openai.com")
                recording.reply(number, [b"{}"])
            recording.end()
            return stack.enter_context(Tape.open(path))

        yield make


def sent(tape: Tape, step: int, *own: Edit) -> list[str]:
    edits = planned(tape, step, own, same_agent=True)
    body = json.dumps({"model": "m", "messages": TURNS[: step * 2 - 1]}).encode()
    messages: list[Any] = json.loads(edits.change(API, body, step)[0])["messages"]
    return [message["content"] for message in messages]


def test_earlier_hints_are_where_they_were_and_the_new_one_comes_last(fork: Fork) -> None:
    tape = fork(hint(1, "A"), hint(2, "B"))
    assert sent(tape, 3, hint(3, "C")) == [
        "turn 0", "A", "turn 1", "turn 2", "B", "turn 3", "turn 4", "C"
    ]  # fmt: skip


def test_what_was_put_in_at_this_step_or_later_is_not_taken_over(fork: Fork) -> None:
    tape = fork(hint(1, "A"), hint(2, "B"))
    assert sent(tape, 2, hint(2, "C")) == ["turn 0", "A", "turn 1", "turn 2", "C"]
    assert sent(tape, 1) == ["turn 0"]
    assert planned(tape, 3, [], same_agent=True).records == [hint(1, "A"), hint(2, "B")]


def test_what_has_no_place_is_said_before_anything_runs(fork: Fork) -> None:
    tape = fork()
    wrong = Edit(step=2, kind="answer", text='{"look": ""}')
    with pytest.raises(UserError, match="at s2, the request has no result of `look`"):
        planned(tape, 2, [wrong], same_agent=True)
    assert planned(tape, 2, [wrong], same_agent=False).records == [wrong]
