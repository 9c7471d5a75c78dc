"""The texts of a run in the order in which they came, each with its event and its place.

Facts only: where a text stands and who put it there. What is coded is decoded, what is JSON is
walked, what a model streamed is put together; a text that cannot be read is told of and passed by.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rerail.errors import RerailError
from rerail.llm.bodies import read_bodies
from rerail.llm.meaning import completion_of
from rerail.llm.steps import call_of
from rerail.llm.turns import Bodies
from rerail.llm.view import Completion, Message, Reasoning, Text, ToolCall, ToolCallResponse
from rerail.tape.exchange import Exchange, joined
from rerail.tape.reader import Tape
from rerail.tape.records import Body, Event, ProcessStarted, RunStarted, WsMessage
from rerail.tape.script_records import ScriptAnswered, ScriptPaused, ScriptStarted
from rerail.trace.story import Said, Story
from rerail.wire.any_json import loaded
from rerail.wire.http1 import parse_head, request_line

Speaker = Literal["command", "agent", "model", "origin"]
"""Who put a text there: whoever started the run, the agent, a model, or any other origin."""

_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class Source:
    """Texts that came at one moment.

    `event` is the number of the event that holds them, `at` nanoseconds since the run began,
    `exchange` the number of the exchange or 0. `texts` gives (place, text): a place is a JSON path
    or a word such as `target`.
    """

    event: int
    at: int
    speaker: Speaker
    title: str
    exchange: int
    texts: Callable[[], Iterator[tuple[str, str]]]


def sources(tape: Tape, *, damaged: Callable[[RerailError], object]) -> list[Source]:
    """All sources of a tape, in the order of their events; `damaged` is told what is unreadable."""
    events = list(tape.events())
    found = [source for event in events if (source := _of_start(event)) is not None]
    found += _of_script(tape, events, damaged)
    for exchange in joined(events, tape.unfinished()):
        found += _of_exchange(tape, exchange, damaged)
    return sorted(found, key=lambda source: source.event)


def sources_in(story: Story) -> list[Source]:
    """All sources of an imported run; `title` is the place in its file, `event` its number there.

    What a person or the instructions say is what the run was given.
    """
    began = next((said.at for said in story.said if said.at is not None), 0)
    return [_of_message(said, began) for said in story.said]


_SPEAKERS: Final[Mapping[str, Speaker]] = {"assistant": "model", "tool": "origin"}


def _of_message(said: Said, began: int) -> Source:
    speaker = _SPEAKERS.get(said.message.role, "command")
    at = max(0, (said.at or began) - began)
    return Source(said.order, at, speaker, said.ref, 0, lambda: _parts(said.message))


def _of_start(event: object) -> Source | None:
    match event:
        case RunStarted(seq=seq, at=at, argv=argv, environment=kept, facts=facts):
            texts = [("command", word) for word in argv]
            texts += [(f"variable {name}", value) for name, value in kept.items()]
            texts += [(f"fact {name}", value) for name, value in facts.items()]
            return Source(seq, at, "command", "the run's own words", 0, lambda: iter(texts))
        case ProcessStarted(seq=seq, at=at, argv=argv, process_id=number) if number > 1:
            words = [("command", word) for word in argv]
            return Source(seq, at, "agent", f"process p{number}", 0, lambda: iter(words))
    return None


def _of_script(
    tape: Tape, events: list[Event], damaged: Callable[[RerailError], object]
) -> Iterator[Source]:
    """What a durable script was given, asked its tools, and was answered."""
    tools: dict[int, str] = {}

    def texts(*bodies: Body | None) -> Callable[[], Iterator[tuple[str, str]]]:
        contents = [body for body in bodies if body is not None]
        return lambda: (place for body in contents for place in _content(tape, body, damaged))

    for event in events:
        seq, at = event.seq, event.at
        match event:
            case ScriptStarted():
                given = texts(event.inputs, event.code)
                yield Source(seq, at, "command", f"script {event.name}", 0, given)
            case ScriptPaused():
                tools[event.pause] = event.tool
                yield Source(seq, at, "agent", f"tool {event.tool}", 0, texts(event.arguments))
            case ScriptAnswered():
                title = f"tool {tools.get(event.pause, '')}"
                yield Source(seq, at, "origin", title, 0, texts(event.answer))


def _content(
    tape: Tape, body: Body, damaged: Callable[[RerailError], object]
) -> Iterator[tuple[str, str]]:
    try:
        yield from _places(tape.blob(body.digest))
    except RerailError as error:
        damaged(error)


def _of_exchange(
    tape: Tape, exchange: Exchange, damaged: Callable[[RerailError], object]
) -> Iterator[Source]:
    request = exchange.request
    if request is None:
        return
    call = call_of(exchange)
    head = parse_head(request.head)
    line = request_line(head)
    title = f"{_text(line.method)} {request.host}{_text(line.target).partition('?')[0]}"
    number = exchange.exchange_id

    def bodies() -> Bodies:
        return read_bodies(tape, exchange, damaged=damaged)

    def asked() -> Iterator[tuple[str, str]]:
        yield "target", _text(line.target)
        yield from _places(bodies().request or b"")

    def told() -> Iterator[tuple[str, str]]:
        found = bodies()
        said = completion_of(call.api, found.reply or b"", found.reply_type) if call else None
        yield from _said(said) if said and said.message else _places(found.reply or b"")

    yield Source(request.seq, request.at, "agent", title, number, asked)
    if exchange.reply_body is not None:
        end = exchange.reply_body
        yield Source(end.seq, end.at, "model" if call else "origin", title, number, told)
    for event in exchange.websocket:
        if isinstance(event, WsMessage) and event.opcode == "text":
            origin: Speaker = "model" if call else "origin"
            speaker: Speaker = "agent" if event.sender == "agent" else origin
            yield Source(event.seq, event.at, speaker, title, number, _message(bodies, event.seq))


def _message(bodies: Callable[[], Bodies], seq: int) -> Callable[[], Iterator[tuple[str, str]]]:
    return lambda: _places(bodies().messages.get(seq, b""))


def _said(completion: Completion) -> Iterator[tuple[str, str]]:
    """A model's words, put together from however many pieces they came in."""
    if completion.message is not None:
        yield from _parts(completion.message)


def _parts(message: Message) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        match part:
            case Text(content=content):
                yield "text", content
            case Reasoning(content=content):
                yield "reasoning", content
            case ToolCall(name=name, arguments=arguments):
                yield "tool", name
                yield from walk(arguments, f"{name}()")
            case ToolCallResponse(response=response):
                yield from _places(response.encode("utf-8", "replace"))


def _places(body: bytes) -> Iterator[tuple[str, str]]:
    """The texts of a body: those of a JSON document by their paths, else the whole."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        if text:
            yield "body", text
        return
    yield from walk(document, "$")


def walk(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text and number in a JSON value, with its path; keys of objects are texts too."""
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path} key", str(key)
            yield from walk(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, f"{path}[{index}]", depth + 1)
    elif isinstance(value, str):
        yield path, value
        if value[:1] in ("{", "["):
            # Arguments of tools, and what tools answer, are often JSON in a text.
            yield from walk(loaded(value), f"{path} as JSON", depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield path, json.dumps(value)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
