"""What a replay knows of identifiers and facts: the tape's, the machine's, what both were given.

Gathers, and compares nothing itself (`rerail.compare.alike` does).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from rerail.compare.alike import Likeness
from rerail.compare.body import READ_LIMIT
from rerail.compare.facts import Facts
from rerail.compare.recorded import Saying
from rerail.compare.volatile import Rules
from rerail.errors import NotOnTape, TapeAltered
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import RunStarted, WsMessage
from rerail.wire.coding import decode
from rerail.wire.http1 import parse_head

_DAY_NS: Final = 86_400 * 10**9
_OFFSET: Final = re.compile(r"([+-])(\d\d)(\d\d)$")


def likeness_of(
    run: RunStarted, rules: Rules, *, lasted: int, now: Mapping[str, str], given: Iterable[str]
) -> Likeness:
    """The likeness for a replay of `run`, which lasted so many nanoseconds.

    `now` holds the present facts, `given` the present arguments and variables.
    """
    facts = Facts(run.facts, now, days=_midnights(run, lasted))
    texts = [*run.argv, run.cwd, *run.environment.values(), *run.facts.values()]
    return Likeness(rules, facts, [*texts, *now.values(), *given])


def _midnights(run: RunStarted, lasted: int) -> int:
    """How many midnights of its own time zone a run lasted over."""
    offset = _OFFSET.search(run.facts.get("timezone", ""))
    east = 0
    if offset:
        east = (int(offset[2]) * 60 + int(offset[3])) * 60 * (-1 if offset[1] == "-" else 1)
    began = (run.wall + east * 10**9) % _DAY_NS
    return (began + lasted) // _DAY_NS


def said_in(tape: Tape, exchange: Exchange) -> Iterator[Saying]:
    """What an exchange brought beside its request, each with the event by which it is known.

    A reply counts from its request on; what an origin says on a WebSocket in one go, from its first
    message on. Of what is too large, or cannot be read, nothing is known.
    """
    assert exchange.request is not None
    if exchange.reply is not None or exchange.interim:
        yield exchange.request.seq, "origin", partial(_reply, tape, exchange)
    messages = [event for event in exchange.websocket if isinstance(event, WsMessage)]
    for sender, run in groupby(messages, key=lambda message: message.sender):
        group = list(run)
        yield group[0].seq, sender, partial(_messages, tape, group)


def _reply(tape: Tape, exchange: Exchange) -> list[bytes]:
    heads = [head.head for head in exchange.interim]
    if exchange.reply is None:
        return heads
    return [*heads, exchange.reply.head, *_reply_body(tape, exchange)]


def _messages(tape: Tape, messages: Sequence[WsMessage]) -> list[bytes]:
    return [content for message in messages for content in _blob(tape, message.content)]


def _reply_body(tape: Tape, exchange: Exchange) -> list[bytes]:
    body = exchange.reply_body.body if exchange.reply_body else None
    if body is None or body.size > READ_LIMIT or exchange.reply is None:
        return []
    coding = (parse_head(exchange.reply.head).get(b"content-encoding") or b"").decode("latin-1")
    found = _blob(tape, body.digest)
    decoded = [decode(content, coding) if coding else content for content in found]
    return [content for content in decoded if content is not None]


def _blob(tape: Tape, digest: bytes) -> list[bytes]:
    try:
        return [tape.blob(digest)]
    except (TapeAltered, NotOnTape):
        return []
