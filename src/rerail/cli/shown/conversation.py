"""A run's turns on the screen and as JSON: what a model was told, what it said. Opens no file."""

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

from rerail.cli.screen.texts import block, duration, for_person, grouped, one_line, say, styled
from rerail.cli.shown.outline import Outline
from rerail.llm.bodies import read_bodies
from rerail.llm.turns import Bodies, Turn, turns
from rerail.llm.view import Message, Other, Part, Reasoning, Text, ToolCall, ToolCallResponse, Usage
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape

_COLUMNS: Final = 100
"""How wide a line is where no terminal says it."""

_LABELS: Final = {
    "→": "cyan",
    "←": "cyan",
    "✗": "red",
    "error": "red",
    "files": "yellow",
    "put in": "magenta",
}
"""In which colour a label is drawn: calls and answers, trouble, what the run changed, a hint."""


def read_turns(tape: Tape, outline: Outline) -> list[Turn]:
    """The turns of a run; a body that cannot be read is noted as the outline's damage."""

    def bodies(exchange: Exchange) -> Bodies:
        return read_bodies(tape, exchange, damaged=outline.damage.append)

    return turns(outline.exchanges, outline.steps, bodies)


# On the screen.


def print_turn(turn: Turn, *, files: str = "", whole: bool) -> None:
    """A heading, then a line for each part of what was new and of what was said.

    `files` names what has changed since the step before.
    """
    say(styled(one_line(_heading(turn)), bold=True))
    if files:
        print_part("files", files, whole=whole)
    if turn.prompt is None:
        print_part("", "(the request cannot be read as its API says)", whole=whole)
    for message in turn.new:
        print_message(message, whole=whole)
    for message in turn.put_in:
        for part in message.parts:
            print_part("put in", _words(message.role, part)[1], whole=whole)
    said = turn.completion
    if said is not None and said.message is not None:
        print_message(said.message, whole=whole)
    if said is not None and said.error:
        print_part("error", said.error, whole=whole)
    if said is None or not (said.message or said.error):
        print_part("", "(no answer is on the tape)", whole=whole)


def _heading(turn: Turn) -> str:
    said = turn.completion
    model = " → ".join(dict.fromkeys(filter(None, (
        turn.prompt.model if turn.prompt else "", said.model if said else "",
    ))))  # fmt: skip
    facts = [
        f"s{turn.step}  +{duration(turn.asked_at)}",
        duration(turn.took_ns) if turn.took_ns is not None else "no end",
        model or turn.call.api,
        _tokens(said.usage) if said else "",
        said.finish_reason if said else "",
        f"attempt {turn.attempts}" if turn.attempts > 1 else "",
    ]
    return "  ".join(filter(None, facts))


def _tokens(usage: Usage) -> str:
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    read, written = (
        "?" if count is None else grouped(count)
        for count in (usage.input_tokens, usage.output_tokens)
    )
    cached = f" ({grouped(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    return f"{read}{cached} in, {written} out"


def print_message(message: Message, *, whole: bool) -> None:
    """A line for each part of a message, or all of its text."""
    for part in message.parts:
        print_part(*_words(message.role, part), whole=whole)


def _words(role: str, part: Part) -> tuple[str, str]:
    match part:
        case Text(content=content):
            return role, content
        case Reasoning(content=content):
            return "thought", content or "(not shown by the provider)"
        case ToolCall(name=name, arguments=arguments):
            return "→", f"{name}({_argument_text(arguments)})"
        case ToolCallResponse(response=response, is_error=is_error):
            return "✗" if is_error else "←", response
        case Other(kind=kind):
            return role, f"({kind})"


def _argument_text(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    texts = ((name, json.dumps(value, ensure_ascii=False)) for name, value in arguments.items())
    return ", ".join(f"{name}={text}" for name, text in texts)


def print_part(label: str, words: str, *, whole: bool) -> None:
    """One part of a turn under its label, in a line or with every line of it."""
    lead = f"  {label:<9} "
    drawn, width = styled(lead, fg=_LABELS[label]) if label in _LABELS else lead, len(lead)
    if not whole:
        say(drawn + _shortened(words, width))
        return
    for line in block(words).rstrip("\n").split("\n"):
        say(drawn + line)
        drawn = " " * width


def _shortened(words: str, used: int) -> str:
    text = one_line(" ⏎ ".join(words.strip().splitlines()))
    columns = shutil.get_terminal_size().columns if for_person() else _COLUMNS
    room = max(columns - used, 20)
    return text if len(text) <= room else text[: room - 1] + "…"


# As JSON.


def turn_values(turn: Turn) -> dict[str, Any]:
    """A turn with the exchange that is its evidence, names as OpenTelemetry has them."""
    prompt, said = turn.prompt, turn.completion
    return {
        "step": turn.step,
        "exchange": turn.exchange_id,
        "attempts": turn.attempts,
        "api": turn.call.api,
        "provider": turn.call.provider,
        "asked_at_ns": turn.asked_at,
        "took_ns": turn.took_ns,
        "request_model": prompt.model if prompt else None,
        "response_model": said.model if said else None,
        "tools": list(prompt.tools) if prompt else None,
        "continues": prompt.continues if prompt else None,
        "new_messages": list(_messages(turn.new)),
        "put_in": list(_messages(turn.put_in)),
        "message": next(_messages([said.message]), None) if said and said.message else None,
        "finish_reason": said.finish_reason if said else None,
        "usage": asdict(said.usage) if said else None,
        "error": said.error if said else None,
    }


def _messages(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield {"role": message.role, "parts": [_part_values(part) for part in message.parts]}


_TYPES: Final = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "tool_call",
    ToolCallResponse: "tool_call_response",
    Other: "other",
}


def _part_values(part: Part) -> dict[str, Any]:
    return {"type": _TYPES[type(part)], **asdict(part)}
