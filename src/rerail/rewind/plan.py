"""What a rewind will change: what the tape's own rewinds changed, then what is asked for now.

Before anything is spent it is tried on the request that is on the tape. Reads a tape, runs nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

from rerail.errors import RerailError, UserError
from rerail.llm.bodies import read_bodies
from rerail.llm.numbered import model_calls
from rerail.llm.session import HistoryMissing, Said, as_said, whole_request
from rerail.rewind.edits import Edits, NotEditable
from rerail.tape.exchange import Exchange, exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import Edit, WsMessage


def planned(tape: Tape, step: int, own: Sequence[Edit], *, same_agent: bool) -> Edits:
    """The edits of a rewind to a step, those of earlier rewinds at the places they had by then.

    `same_agent`: the recorded command is run, so that it will ask what is on the tape.

    Raises:
        UserError: What is asked for now cannot be done in that request.
    """
    parent = tape.run.parent
    earlier = [edit for edit in parent.edits if edit.step < step] if parent else []
    edits = Edits.of([*earlier, *own])
    if not edits.all:
        return edits
    for number, api, body in _asked(tape):
        if number < step:
            _remember(edits, api, body, number)
        elif number == step and same_agent and own:
            _try(edits, api, body, step, tape.path)
    return edits


def said_before(tape: Tape, step: int) -> list[Said]:
    """What was asked and answered over HTTP before a step, for an API that keeps the history."""
    found = exchanges(tape)
    attempts = model_calls(tape, found).steps
    unreadable: list[RerailError] = []
    said: list[Said] = []
    for exchange in found:
        attempt = attempts.get(exchange.exchange_id)
        if attempt is None or attempt.turns or attempt.step >= step:
            continue
        bodies = read_bodies(tape, exchange, damaged=unreadable.append)
        said.append(("agent", bodies.request or b""))
        said += as_said(bodies.reply or b"", bodies.reply_type)
    return said


def _remember(edits: Edits, api: str, body: bytes, step: int) -> None:
    """An edit that could not be made then was not: its run ended there."""
    try:
        edits.change(api, body, step)
    except NotEditable:
        return


def _try(edits: Edits, api: str, body: bytes, step: int, tape: Path) -> None:
    try:
        deepcopy(edits).change(api, body, step)
    except NotEditable as error:
        raise UserError(
            f"at s{step}, {error}", hint=f"`rerail steps {tape} {step}` shows what was asked there"
        ) from error


def _asked(tape: Tape) -> Iterator[tuple[int, str, bytes]]:
    """What the agent sent, by step, as far as it can be read: (step, API, body)."""
    found = exchanges(tape)
    attempts = model_calls(tape, found).steps
    unreadable: list[RerailError] = []
    asked: list[tuple[int, str, bytes]] = []
    for exchange in found:
        attempt = attempts.get(exchange.exchange_id)
        if attempt is None:
            continue
        bodies = read_bodies(tape, exchange, damaged=unreadable.append)
        api, said = attempt.call.api, bodies.messages
        asked += [(turn.step, api, _whole(exchange, said, turn.event)) for turn in attempt.turns]
        if not attempt.turns and bodies.request is not None:
            asked.append((attempt.step, api, bodies.request))
    yield from sorted(asked, key=lambda one: one[0])


def _whole(exchange: Exchange, said: Mapping[int, bytes], turn: int) -> bytes:
    """A message of a session as it would go live: with its history, as far as that is there."""
    before = [
        (event.sender, said[event.seq])
        for event in exchange.websocket
        if isinstance(event, WsMessage) and event.seq < turn and event.seq in said
    ]
    message = said.get(turn, b"")
    with suppress(HistoryMissing):
        return whole_request(message, before)
    return message
