"""Bodies as a person reads them: codings undone, JSON indented, streams event by event, hex.

What is read is bounded, and what is left out is said.
"""

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final

from rerail.cli.facts.events import digest_text, text_or_base64
from rerail.cli.screen.texts import (
    block,
    duration,
    for_person,
    grouped,
    is_safe,
    one_line,
    quantity,
)
from rerail.cli.shown.evidence import Content
from rerail.compare.body import form_of, parameter
from rerail.compare.values import Unreadable, json_text, read_json
from rerail.llm.bodies import LOOKED_INTO
from rerail.wire.coding import Decoded, decode_part
from rerail.wire.sse import ServerSentEvent
from rerail.wire.sse import events as sse_events

_SCREEN_LINES: Final = 400
_SCREEN_COLUMNS: Final = 1000
_HEX_BYTES: Final = 256
_HEX_COLUMNS: Final = 16
_TIMED_BYTES: Final = 64 << 20
_CHARSETS: Final = re.compile(
    r"us-ascii|utf-16(be|le)?|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]"
    r"|shift_jis|euc-(jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5"
)
"""Others are read as UTF-8: Python knows codecs that a stranger could keep busy for hours."""


def lines(content: Content, *, see_all: str) -> Iterator[str]:
    """A body in lines that are safe to print. `see_all` is the command that writes all of it.

    For a person on a terminal, long bodies are cut. Raises TapeAltered.
    """
    decoded = _decoded(content)
    shown = _shown(content, decoded)
    if for_person():
        yield from _cut(shown, see_all)
    else:
        yield from shown
    yield from _remarks(content, decoded, see_all)


def in_one_line(content: Content) -> str:
    """A small content in one line: text as it is, binary as hex; cut for a person's terminal."""
    body = content.beginning()
    text = _text_of(body, content.media_type)
    if text is None:
        more = " …" if len(body) > _HEX_COLUMNS else ""
        return f"{body[:_HEX_COLUMNS].hex(' ')}{more}"
    return _cut_line(one_line(text)) if for_person() else one_line(text)


def _decoded(content: Content) -> Decoded:
    """The beginning with its content codings undone."""
    return decode_part(content.beginning(), content.coding, limit=LOOKED_INTO)


def _remarks(content: Content, decoded: Decoded, see_all: str) -> Iterator[str]:
    """Why this is not all."""
    coding = one_line(content.coding)
    match decoded.ended:
        case "cut" if content.size <= LOOKED_INTO:
            yield f"(cut: the {coding} coding has no end)"
        case "damaged":
            yield f"(damaged: from here on it is not {coding})"
        case "unknown":
            yield f"(the coding {coding} cannot be undone here)"
    if content.size > LOOKED_INTO or decoded.ended == "too_large":
        total = quantity(content.size, "byte")
        yield f"(the beginning of {total}; `{see_all}` writes all of them)"


def _cut(shown: Iterable[str], see_all: str) -> Iterator[str]:
    for number, line in enumerate(shown):
        if number == _SCREEN_LINES:
            yield f"(more lines follow; `{see_all}` writes all)"
            return
        yield _cut_line(line)


def _cut_line(line: str) -> str:
    left_out = len(line) - _SCREEN_COLUMNS
    more = f" … ({grouped(left_out)} more characters)" if left_out > 0 else ""
    return line[:_SCREEN_COLUMNS] + more


def _shown(content: Content, decoded: Decoded) -> Iterator[str]:
    body = decoded.content
    if content.is_stream:
        return _stream_lines(content, decoded)
    if decoded.ended == "unknown":
        return _hex_lines(body)
    text = _text_of(body, content.media_type)
    if text is None:
        return _hex_lines(body)
    if form_of(content.media_type) == "json" or text.lstrip()[:1] in ("{", "["):
        text = _indented(body) or text
    return iter(block(text).splitlines())


def _text_of(body: bytes, media_type: str) -> str | None:
    """The body as text, or None for what is not: a few odd characters make no binary."""
    charset = parameter(media_type, "charset").lower()
    try:
        text = body.decode(charset if _CHARSETS.fullmatch(charset) else "utf-8")
    except (LookupError, UnicodeError):
        text = body.decode("utf-8", "surrogateescape")
    sample = text[:4096]
    odd = sum(not is_safe(character) for character in sample if character != "\r")
    return None if odd * 10 > len(sample) or "\x00" in sample else text


def _indented(body: bytes) -> str | None:
    try:
        return json_text(read_json(body), indent=2)
    except (Unreadable, RecursionError):
        return None


def _stream_lines(content: Content, decoded: Decoded) -> Iterator[str]:
    """One line an event: when its last byte came, after the request; its name; its data."""
    for at, event in timed_events(content, decoded):
        when = "" if at is None else f"+{duration(at - content.asked_at)}"
        name = "" if event.name == "message" else f"[{one_line(event.name)}] "
        partly = "" if event.complete else " (unfinished)"
        yield f"{when:>10}  {name}{one_line(event.data)}{partly}"


def timed_events(
    content: Content, decoded: Decoded
) -> Iterator[tuple[int | None, ServerSentEvent]]:
    """The events of a stream with the time (ns since the run began) at which each was complete."""
    ends = _decoded_ends(content, decoded)
    for event in sse_events(decoded.content):
        place = bisect_right(ends, event.end - 1) if ends else 0
        yield content.chunks[place].at_ns if place < len(ends) else None, event


def _decoded_ends(content: Content, decoded: Decoded) -> list[int]:
    """For each chunk, where what it brought ends in the decoded content; empty if unknown.

    Of a coded body each beginning is undone again, so this is for streams, not for large files.
    """
    ends = list(accumulate(chunk.size for chunk in content.chunks))
    if not content.coding or not ends:
        return ends
    if len(decoded.content) * len(ends) > _TIMED_BYTES or decoded.ended == "unknown":
        return []
    body = content.beginning()
    coding, limit = content.coding, LOOKED_INTO
    return [len(decode_part(body[:end], coding, limit=limit).content) for end in ends]


def _hex_lines(body: bytes) -> Iterator[str]:
    for start in range(0, min(len(body), _HEX_BYTES), _HEX_COLUMNS):
        row = body[start : start + _HEX_COLUMNS]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start:08x}  {row.hex(' '):<{_HEX_COLUMNS * 3}} {text}"
    if len(body) > _HEX_BYTES:
        yield f"(binary: the first {_HEX_BYTES} of {quantity(len(body), 'byte')})"


def content_values(content: Content) -> dict[str, Any]:
    """A body as JSON values: its text with codings undone, or base64; of a stream, its events.

    Of a body larger than what is looked into, the content is left out (`omitted`).
    """
    found: dict[str, Any] = {
        "digest": digest_text(content.digest) if content.digest else None,
        "size": content.size,
        "chunks": [[chunk.size, chunk.at_ns] for chunk in content.chunks],
        "coding": content.coding or None,
    }
    if content.size > LOOKED_INTO:
        return found | {"omitted": True}
    decoded = _decoded(content)
    if decoded.ended == "unknown":
        return found | {"decoded": "unknown", "base64": base64.b64encode(decoded.content).decode()}
    text = text_or_base64(decoded.content)
    found |= {"decoded": decoded.ended}
    found |= {"text": text} if isinstance(text, str) else text
    if content.is_stream:
        found["events"] = [
            {"at_ns": at, "name": event.name, "data": event.data, "complete": event.complete}
            for at, event in timed_events(content, decoded)
        ]
    return found
