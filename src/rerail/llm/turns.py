"""The run as a conversation: each model call, what was new in it, and what the model said.

A view over exchanges and their bodies, which are given; knows no tape and no file.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from rerail.llm.calls import ModelCall
from rerail.llm.meaning import completion_in, completion_of, prompt_of
from rerail.llm.steps import Attempt
from rerail.llm.view import Completion, Message, Part, Prompt
from rerail.tape.exchange import Exchange
from rerail.tape.records import WsMessage

_LOOKED_BACK: Final = 16
"""Earlier requests that a request is compared with: conversations beside each other are few."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call.

    `exchange_id` is that of its last attempt. `asked_at` is when the request was complete, in
    nanoseconds since the run began; `took_ns` the time to the reply's end, None where there was
    none. `new` is what the request holds beyond the earlier request most like it, the model's own
    words left out; `put_in` is what the origin was sent besides, such as a hint. `prompt` and
    `completion` are None where they cannot be told.
    """

    step: int
    attempts: int
    exchange_id: int
    call: ModelCall
    asked_at: int
    took_ns: int | None
    prompt: Prompt | None
    completion: Completion | None
    new: tuple[Message, ...] = ()
    put_in: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Bodies:
    """What is on a tape of an exchange, content codings undone; None where it cannot be had.

    `messages` gives those of a WebSocket by their events, in order. `sent` is the request as the
    origin was sent it, where that was not the agent's.
    """

    request: bytes | None
    reply: bytes | None
    reply_type: str = ""
    sent: bytes | None = None
    messages: Mapping[int, bytes] = field(default_factory=dict)


def turns(
    exchanges: Iterable[Exchange],
    attempts: Mapping[int, Attempt],
    bodies: Callable[[Exchange], Bodies],
) -> list[Turn]:
    """The turns of a run in the order of its steps; `attempts` is from `rerail.llm.steps`."""
    return list(each_turn(exchanges, attempts, bodies))


def each_turn(
    exchanges: Iterable[Exchange],
    attempts: Mapping[int, Attempt],
    bodies: Callable[[Exchange], Bodies],
) -> Iterator[Turn]:
    """The same one by one: each prompt holds all before it, and all together need much room."""
    last: dict[int, tuple[Exchange, Attempt]] = {}
    for exchange in exchanges:
        attempt = attempts.get(exchange.exchange_id)
        if attempt is not None:
            last |= dict.fromkeys(attempt.steps, (exchange, attempt))
    sessions: dict[int, Bodies] = {}
    told: dict[int, Counter[str]] = {}
    said: deque[Counter[str]] = deque(maxlen=_LOOKED_BACK)
    for step in sorted(last):
        exchange, attempt = last[step]
        if attempt.turns:
            number = exchange.exchange_id
            sessions[number] = sessions.get(number) or bodies(exchange)
            heard = told.setdefault(number, Counter())
            turn = _turn_in_session(exchange, attempt, step, sessions[number], said, heard)
        else:
            turn = _turn(exchange, attempt, bodies, said)
        yield turn
        if turn.prompt is not None:
            said.append(_parts(turn.prompt.messages))


def _turn(
    exchange: Exchange,
    attempt: Attempt,
    bodies: Callable[[Exchange], Bodies],
    said: Sequence[Counter[str]],
) -> Turn:
    api = attempt.call.api
    found = bodies(exchange)
    prompt = prompt_of(api, found.request) if found.request is not None else None
    completion = None
    if found.reply is not None:
        completion = completion_of(api, found.reply, found.reply_type)
    asked_at = exchange.request.at if exchange.request else 0
    end = exchange.reply_body or exchange.failed
    return Turn(
        attempt.step,
        attempt.attempt,
        exchange.exchange_id,
        attempt.call,
        asked_at,
        end.at - asked_at if end else None,
        prompt,
        completion,
        tuple(_new(prompt.messages, said)) if prompt else (),
        _put_in(api, prompt, found.sent),
    )


def _put_in(api: str, prompt: Prompt | None, sent: bytes | None) -> tuple[Message, ...]:
    changed = prompt_of(api, sent) if sent is not None else None
    if prompt is None or changed is None:
        return ()
    return tuple(_new(changed.messages, [_parts(prompt.messages)]))


def _turn_in_session(
    exchange: Exchange,
    attempt: Attempt,
    step: int,
    bodies: Bodies,
    said: Sequence[Counter[str]],
    told: Counter[str],
) -> Turn:
    """A turn on a WebSocket: a message of the agent, and the origin's up to the agent's next.

    `told` is what the agent has said in this session before, and then this, too.
    """
    event = next(turn.event for turn in attempt.turns if turn.step == step)
    after = [item for item in exchange.websocket if isinstance(item, WsMessage)]
    after = after[next(at for at, item in enumerate(after) if item.seq == event) :]
    answers = list(takewhile(lambda item: item.sender == "origin", after[1:]))
    read = bodies.messages
    prompt = prompt_of(attempt.call.api, read.get(event, b""))
    completion = completion_in(attempt.call.api, [read.get(item.seq, b"") for item in answers])
    told.update(_parts(prompt.messages) if prompt else ())
    edited = exchange.edited is not None and _last_before(exchange.edited.seq, attempt) == event
    return Turn(
        step,
        1,
        exchange.exchange_id,
        attempt.call,
        after[0].at,
        answers[-1].at - after[0].at if answers else None,
        prompt,
        completion,
        tuple(_new(prompt.messages, said)) if prompt else (),
        _put_in_session(attempt.call.api, bodies.sent, told) if edited else (),
    )


def _last_before(event: int, attempt: Attempt) -> int:
    return max((turn.event for turn in attempt.turns if turn.event < event), default=0)


def _put_in_session(api: str, sent: bytes | None, told: Counter[str]) -> tuple[Message, ...]:
    """The origin was sent the history of the session: what the agent never said was put in."""
    changed = prompt_of(api, sent) if sent is not None else None
    return tuple(_new(changed.messages, [told])) if changed else ()


def _new(messages: Sequence[Message], said: Sequence[Counter[str]]) -> Iterator[Message]:
    """The parts that the earlier request most like this one did not hold, in their messages."""
    here = _parts(messages)
    nearest = max(said, key=lambda earlier: (earlier & here).total(), default=Counter[str]())
    known = nearest.copy()
    for message in messages:
        parts = []
        for part in message.parts:
            key = _key(message, part)
            if known[key]:
                known[key] -= 1
            elif message.role != "assistant":
                parts.append(part)
        if parts:
            yield Message(message.role, tuple(parts))


def _parts(messages: Sequence[Message]) -> Counter[str]:
    return Counter(_key(message, part) for message in messages for part in message.parts)


def _key(message: Message, part: Part) -> str:
    return f"{message.role} {part!r}"
