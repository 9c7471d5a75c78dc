"""What is new in a request, told against the earlier one that is most like it."""

import json
from typing import Any

from rerail.llm.steps import steps
from rerail.llm.turns import Bodies, Turn, turns
from rerail.tape.exchange import joined
from rerail.tape.records import HttpRequest, WsMessage

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


def test_each_turn_of_a_session_is_told_by_its_own_messages() -> None:
    def ask(text: str, **more: Any) -> bytes:
        body = {"type": "response.create", "model": "m", "input": [said("user", text)], **more}
        return json.dumps(body).encode()

    def answer(text: str) -> bytes:
        output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        response = {"id": "resp_1", "status": "completed", "output": output}
        return json.dumps({"type": "response.completed", "response": response}).encode()

    spoken = [
        ("agent", ask("", generate=False)), ("origin", answer("warm")),
        ("agent", ask("One?")), ("origin", b'{"type": "response.created"}'),
        ("origin", answer("Uno.")),
        ("agent", ask("Two?", previous_response_id="resp_1")), ("origin", answer("Due.")),
    ]  # fmt: skip
    upgrade = b"GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
    request = HttpRequest(seq=1, at=0, wall=0, exchange_id=1, connection_id=1, scheme="https",
                          host="api.openai.com", port=443, head=upgrade)  # fmt: skip
    messages = [
        WsMessage(seq=number, at=number * 10, wall=0, exchange_id=1, sender=sender, opcode="text",
                  content=text, size=len(text))  # type: ignore[arg-type]
        for number, (sender, text) in enumerate(spoken, start=2)
    ]  # fmt: skip
    found = joined([request, *messages])
    bodies = Bodies(None, None, messages={item.seq: item.content for item in messages})
    first, second = turns(found, steps(found, lambda digest: digest), lambda exchange: bodies)
    assert [(turn.step, new(turn)) for turn in (first, second)] == [(1, ["One?"]), (2, ["Two?"])]
    answers = [turn.completion.message for turn in (first, second) if turn.completion]
    assert [message.text for message in answers if message] == ["Uno.", "Due."]
    assert (first.asked_at, first.took_ns) == (40, 20)
    assert second.prompt is not None
    assert second.prompt.continues == "resp_1"


def test_the_same_words_said_again_are_new() -> None:
    again = said("user", "Go on.")
    found = read([again], [again, said("assistant", "Yes."), again])
    assert new(found[1]) == ["Go on."]


def test_a_history_that_was_cut_has_nothing_new() -> None:
    long = [said("user", str(number)) for number in range(5)]
    assert new(read(long, long[2:])[1]) == []
