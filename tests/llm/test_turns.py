"""What is new in a request, told against the earlier one that is most like it."""

import json
from typing import Any

from rerail.llm.steps import steps
from rerail.llm.turns import Bodies, Turn, turns
from rerail.tape.exchange import joined
from rerail.tape.records import HttpRequest

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: api.openai.com\r\n\r\n"


def read(*histories: list[dict[str, Any]]) -> list[Turn]:
    """The turns of a run whose requests had these histories; a history twice is no retry."""
    requests = [
        HttpRequest(
            seq=number, at=number, wall=0, exchange_id=number, connection_id=1, scheme="https",
            host="api.openai.com", port=443, head=HEAD,
        )
        for number in range(1, len(histories) + 1)
    ]  # fmt: skip
    bodies = {
        number: json.dumps({"model": "m", "messages": history}).encode()
        for number, history in enumerate(histories, 1)
    }
    found = joined(requests)
    return turns(found, steps(found), lambda exchange: Bodies(bodies[exchange.exchange_id], None))


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def new(turn: Turn) -> list[str]:
    return [message.text for message in turn.new]


def test_conversations_beside_each_other_are_told_apart() -> None:
    one, other = said("system", "You mend code."), said("system", "Give a title.")
    found = read(
        [one, said("user", "Mend it.")],
        [other, said("user", "Mend it, please.")],
        [one, said("user", "Mend it."), said("assistant", "Done."), said("user", "Thanks.")],
    )
    assert [new(turn) for turn in found] == [
        ["You mend code.", "Mend it."],
        ["Give a title.", "Mend it, please."],
        ["Thanks."],
    ]


def test_the_same_words_said_again_are_new() -> None:
    again = said("user", "Go on.")
    found = read([again], [again, said("assistant", "Yes."), again])
    assert new(found[1]) == ["Go on."]


def test_a_history_that_was_cut_has_nothing_new() -> None:
    long = [said("user", str(number)) for number in range(5)]
    assert new(read(long, long[2:])[1]) == []
