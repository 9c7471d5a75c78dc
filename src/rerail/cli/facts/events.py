"""Events and their parts in words and as JSON: one line an event, every field a value.

Reads no evidence: a digest stays a digest. Text is not made safe here; `screen.texts` does that on
the way out.
"""

import base64
import shlex
import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from rerail.cli.facts.planes import plane_words
from rerail.cli.facts.scripts import script_words
from rerail.cli.screen.texts import quantity, size_text, utc
from rerail.compare.canon import Request
from rerail.tape.chunks import CHUNKS_MAX, Chunk, decode_chunks
from rerail.tape.records import (
    Body,
    BodyEnd,
    CaptureMissing,
    ClockJumped,
    ConnectionFailed,
    Event,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    HttpRequestEdited,
    McpMessage,
    ProbeLog,
    ProcessEnded,
    ProcessOutput,
    ProcessSignalled,
    ProcessStarted,
    RunEnded,
    RunLost,
    RunStarted,
    TunnelClosed,
    TunnelOpened,
    UnknownEvent,
    WorkspaceSnapshot,
    WsClosed,
    WsMessage,
    WsOpened,
    kind_of,
)
from rerail.wire.http1 import parse_head

_DIGESTS = frozenset(
    (
        "digest",
        "content",
        "tree",
        "base",
        "proposal_ref",
        "read_ref",
        "reported_ref",
        "wanted_digest",
    )
)
_NOT_LAST = bytes(range(0x80, 0x100))
_TABLES = frozenset(("chunks", "frames"))

ENDS: Mapping[BodyEnd, str] = {
    "complete": "complete",
    "cut": "cut",
    "truncated": "TLS cut",
    "reset": "reset",
    "agent_closed": "the agent went away",
    "timeout": "timed out",
}
"""How a message ended, in words."""


def request_of(event: HttpRequest) -> Request:
    """The request an event tells of: method, URL, headers; its body is not read."""
    return Request.read(
        parse_head(event.head),
        scheme=event.scheme,
        host=event.host,
        port=event.port,
        process_id=event.process_id,
    )


def words(event: Event) -> str:
    """What an event says, in one line."""
    match event:
        case RunStarted():
            return shlex.join(event.argv)
        case RunEnded():
            reason = f", {event.reason}" if event.reason else ""
            return f"{ending_text(event.status, event.signal)}{reason}"
        case RunLost():
            return event.reason
        case CaptureMissing():
            detail = ", ".join(event.files) or event.detail
            return f"{event.what}: {detail}" if detail else event.what
        case ProcessStarted():
            failed = f", not started: {event.failed}" if event.failed else ""
            return f"p{event.process_id} {shlex.join(event.argv)}{failed}"
        case ProcessOutput():
            how = _body_and_end(event.body, event.ended)
            return f"p{event.process_id} {event.stream}, {how}"
        case McpMessage():
            sender = "was told" if event.sender == "agent" else "said"
            return f"p{event.process_id} {sender} {size_text(event.size)}"
        case ProcessSignalled():
            return f"p{event.process_id} was sent {ending_text(0, event.signal)}"
        case ProcessEnded(unknown=True):
            return f"p{event.process_id} went on, or nobody asked how it ended"
        case ProcessEnded():
            return f"p{event.process_id} {ending_text(event.status, event.signal)}"
        case ProbeLog():
            return f"p{event.process_id} was handed times or entropy, {size_text(event.size)}"
        case ClockJumped():
            return f"from {utc(event.before)}, as recorded, to {utc(event.after)}"
        case ConnectionFailed():
            return failure_text(event)
        case TunnelOpened():
            return f"c{event.connection_id} {event.host}:{event.port}, {event.why}"
        case TunnelClosed():
            return f"c{event.connection_id} {tunnel_text(event)}"
        case WorkspaceSnapshot():
            return snapshot_text(event)
    return _exchange_words(event)


def _exchange_words(event: Event) -> str:
    match event:
        case HttpRequest():
            request = request_of(event)
            body = "" if event.body is None else f", {body_text(event.body)}"
            partly = ", its body still coming" if event.unfinished else ""
            return f"r{event.exchange_id} {request.method} {request.url}{body}{partly}"
        case HttpRequestBody():
            return f"r{event.exchange_id} {_body_and_end(event.body, event.ended)}"
        case HttpRequestEdited():
            size = size_text(event.size)
            return f"r{event.exchange_id} the origin was sent {size} instead: {event.why}"
        case HttpReplyHead():
            return f"r{event.exchange_id} {_text(parse_head(event.head).start.partition(b' ')[2])}"
        case HttpReplyBody():
            return f"r{event.exchange_id} {_body_and_end(event.body, event.ended)}"
        case HttpFailed():
            reason = f": {event.reason}" if event.reason else ""
            return f"r{event.exchange_id} no reply, {ENDS[event.ended]}{reason}"
        case WsOpened():
            extensions = f", {event.extensions}" if event.extensions else ""
            return f"r{event.exchange_id} is a WebSocket now{extensions}"
        case WsMessage():
            partly = ", unfinished" if event.unfinished else ""
            size = size_text(event.size)
            return f"r{event.exchange_id} {event.sender} sent {event.opcode}, {size}{partly}"
        case WsClosed():
            reason = f" {event.reason}" if event.reason else ""
            return f"r{event.exchange_id} {event.sender} closed, {event.code}{reason}"
    words = plane_words(event) or script_words(event)
    return words or "(a kind that this version of rerail does not know)"


def _body_and_end(body: Body | None, ended: BodyEnd) -> str:
    return f"{'no body' if body is None else body_text(body)}, {ENDS[ended]}"


def body_text(body: Body) -> str:
    """`3.4 kB in 14 chunks`."""
    return f"{size_text(body.size)} in {quantity(chunk_count(body.chunks), 'chunk')}"


def chunk_count(table: bytes) -> int:
    """How many chunks a table tells of: two numbers each, and each ends with a byte below 128."""
    return len(table.translate(None, delete=_NOT_LAST)) // 2


def chunks_of(table: bytes) -> tuple[Chunk, ...]:
    """The chunks of a table; none where it is torn, or longer than any writer makes it."""
    if chunk_count(table) > CHUNKS_MAX:
        return ()
    try:
        return tuple(decode_chunks(table))
    except ValueError:
        return ()


def ending_text(status: int, signal_number: int) -> str:
    """`status 3`, or `signal 15 (SIGTERM)`."""
    if not signal_number:
        return f"status {status}"
    try:
        name = f" ({signal.Signals(signal_number).name})"
    except ValueError:
        name = ""
    return f"signal {signal_number}{name}"


def failure_text(event: ConnectionFailed) -> str:
    """What could not be reached, how far it came, why, and what the agent was given instead."""
    error = f" ({event.error})" if event.error and event.error != event.reason else ""
    shown = f"; the agent was given {event.shown}" if event.shown else ""
    return f"{event.host}:{event.port}, {event.phase}: {event.reason}{error}{shown}"


def tunnel_text(event: TunnelClosed) -> str:
    """What each side of an opaque connection sent."""
    sent = event.sent.size if event.sent else 0
    received = event.received.size if event.received else 0
    return f"sent {size_text(sent)}, received {size_text(received)}, {ENDS[event.ended]}"


def snapshot_text(event: WorkspaceSnapshot) -> str:
    """When, which folder, how much is in it, and what is new."""
    moment = {
        "start": "at the start",
        "step": f"before the reply to {', '.join(f'r{number}' for number in event.exchanges)}",
        "child": f"after p{event.process_id}",
        "restored": f"put in place by a rewind before the reply to r{event.exchange_id}",
        "end": "at the end",
    }[event.why]
    parts = [f"{quantity(event.files, 'file')}, {size_text(event.size)}"]
    if event.why != "start":
        parts.append(f"{event.added} added, {event.changed} changed, {event.removed} removed")
    if event.left_out:
        parts.append(f"{event.left_out} left out")
    if event.inconsistent:
        parts.append("changed while it was read")
    return f"{event.folder} {moment}: {'; '.join(parts)}"


def event_values(event: Event) -> dict[str, Any]:
    """An event as JSON values, its number, times and kind first."""
    common = {
        "event": event.seq,
        "kind": kind_of(event),
        "at_ns": event.at,
        "wall_ns": event.wall,
        "component": event.component,
    }
    own = msgspec.structs.asdict(event)
    for name in ("seq", "at", "wall", "component"):
        own.pop(name)
    if isinstance(event, UnknownEvent):
        own.pop("name")
    return common | {name: values(name, value) for name, value in own.items()}


def values(name: str, value: object) -> Any:
    """A field as JSON values: digests in hexadecimal, chunk tables as lists, bytes as text."""
    if isinstance(value, bytes):
        return _bytes_value(name, value)
    if isinstance(value, list) and name in ("not_captured", "left_out"):
        return [msgspec.structs.asdict(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return {key: values(key, item) for key, item in msgspec.structs.asdict(value).items()}
    return value


def _bytes_value(name: str, value: bytes) -> Any:
    if name in _DIGESTS:
        return digest_text(value) if value else ""
    if name in _TABLES:
        return [[chunk.size, chunk.at_ns] for chunk in chunks_of(value)]
    return text_or_base64(value)


def digest_text(digest: bytes) -> str:
    """`sha256:` and the digest in hexadecimal."""
    return f"sha256:{digest.hex()}"


def text_or_base64(value: bytes) -> str | dict[str, str]:
    """Bytes as text, or, where they are no UTF-8, as `{"base64": …}`."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
