"""Model calls beside the main conversation: a title, a summary of what was said. Knows no numbers.

An agent asks its main questions under one system prompt, with its tools. A call under another one
that offers none, and whose answer the main conversation never takes up, is beside it: nothing that
the agent did came from there.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final

from rerail.llm.calls import ModelCall
from rerail.llm.meaning import completion_of, prompt_of
from rerail.llm.turns import Bodies
from rerail.llm.view import Message, Prompt
from rerail.tape.exchange import Exchange

SMALL: Final = 32 << 10
"""Bytes of a request beside the main ones, at most; only such are read to tell them."""
_TOLD_BY: Final = 24
"""Characters of an answer by which it is known again."""
_NAMES: Final = ("title", "summar", "topic", "quota")
_OTHER: Final = "side"

Call = tuple[Exchange, ModelCall]


def lanes(calls: Sequence[Call], bodies: Callable[[Exchange], Bodies]) -> dict[int, str]:
    """The calls beside the main ones, by exchange id, each with the name of its lane.

    `bodies` reads an exchange's bodies. The main conversation is where the largest request is.
    """
    largest = max(calls, key=lambda call: _size(call[0]), default=None)
    small = [call for call in calls if 0 < _size(call[0]) <= SMALL and call is not largest]
    if largest is None or not small:
        return {}
    asked = bodies(largest[0]).request or b""
    main = prompt_of(largest[1].api, asked) if b'"tools"' in asked else None
    if main is None or not main.tools:
        return {}
    found = {}
    for exchange, call in small:
        name = _beside(call, bodies(exchange), main, asked)
        if name:
            found[exchange.exchange_id] = name
    return found


def _size(exchange: Exchange) -> int:
    return exchange.request_body.size if exchange.request_body else 0


def _beside(call: ModelCall, read: Bodies, main: Prompt, main_body: bytes) -> str:
    """The name of a call's lane; nothing for a call of the main conversation."""
    if read.request is None or b'"tools":[{' in read.request.replace(b" ", b""):
        return ""
    prompt = prompt_of(call.api, read.request)
    if prompt is None or prompt.tools or _system(prompt) == _system(main):
        return ""
    if any(message.role == "tool" for message in prompt.messages):
        return ""
    answer = completion_of(call.api, read.reply or b"", read.reply_type)
    if answer is not None and answer.message is not None:
        text = answer.message.text.strip()[:_TOLD_BY]
        if len(text) == _TOLD_BY and _stands_in(text, main_body):
            return ""
    return _name(prompt)


def _system(prompt: Prompt) -> str:
    return "".join(_texts(prompt.messages, "system"))


def _texts(messages: Sequence[Message], role: str) -> list[str]:
    return [message.text for message in messages if message.role == role]


def _stands_in(text: str, body: bytes) -> bool:
    """Whether a text stands in a JSON body, with or without its letters escaped."""
    return any(
        json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "replace") in body
        for ascii_only in (True, False)
    )


def _name(prompt: Prompt) -> str:
    """What the lane is for, by its system prompt, or by what it asks where it has none."""
    said = (_system(prompt) or "".join(_texts(prompt.messages, "user"))).lower()
    found = next((name for name in _NAMES if name in said), _OTHER)
    return "summary" if found == "summar" else found
