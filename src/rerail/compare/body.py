"""A body read by its type: JSON, form or multipart as a value, anything else as bytes.

What is read here is what is compared and what a difference is shown in. Knows no rules.
"""

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

from rerail.compare.values import Unreadable, Value, read_json
from rerail.wire.coding import decode

Form = Literal["none", "json", "form", "multipart", "bytes"]

READ_LIMIT: Final = 32 << 20
"""Bytes past which a body is compared by its digest alone."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A body as it is compared: `value` for the forms that have one, else `content`.

    `content` is the body after its content codings were undone (`coding` says which; "" where there
    was none, or where it could not be undone).
    """

    form: Form
    content: bytes
    coding: str = ""
    value: Value = None


def read_body(content: bytes, content_type: str, content_encoding: str) -> Reading:
    """Read a body. Never raises: a body that is not what its type says is bytes."""
    if not content:
        return Reading("none", b"")
    coding = content_encoding.strip().lower()
    decoded = decode(content, coding) if coding else content
    if decoded is None:
        return Reading("bytes", content)
    form = form_of(content_type)
    try:
        if form == "json":
            return Reading(form, decoded, coding, read_json(decoded))
        if form == "form":
            return Reading(form, decoded, coding, _read_form(decoded))
        if form == "multipart":
            return Reading(form, decoded, coding, _read_multipart(decoded, content_type))
    except Unreadable:
        pass
    return Reading("bytes", decoded, coding)


def form_of(content_type: str) -> Form:
    """What a Content-Type says a body is."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type.endswith(("/json", "+json")):
        return "json"
    if media_type == "application/x-www-form-urlencoded":
        return "form"
    return "multipart" if media_type.startswith("multipart/") else "bytes"


def _read_form(content: bytes) -> Value:
    """Names to their values, spelled as sent: the order between names does not count."""
    fields: dict[str, Value] = {}
    for pair in content.decode("utf-8", "surrogateescape").split("&"):
        name, _, value = pair.partition("=")
        values = fields.setdefault(name, [])
        assert isinstance(values, list)
        values.append(value)
    return fields


def _read_multipart(content: bytes, content_type: str) -> Value:
    """The parts in order (RFC 2046 section 5.1): what stands outside them does not count."""
    boundary = parameter(content_type, "boundary")
    if not boundary:
        raise Unreadable("no boundary")
    delimiter = b"\r\n--" + boundary.encode("utf-8", "surrogateescape")
    _, *pieces = (b"\r\n" + content).split(delimiter)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise Unreadable("no closing boundary")
    return [_read_part(piece) for piece in pieces[:-1]]


def _read_part(piece: bytes) -> Value:
    head, separator, body = piece.lstrip(b" \t").partition(b"\r\n\r\n")
    if not separator:
        raise Unreadable("a part without an end to its head")
    headers: dict[str, Value] = {}
    for line in head.decode("utf-8", "surrogateescape").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip():
            headers[name.strip().lower()] = value.strip()
    return {"headers": headers, "body": _part_text(body)}


def _part_text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return f"⟨{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}⟩"


def parameter(value: str, name: str) -> str:
    """A parameter of a header value, quotes taken off (RFC 9110 section 5.6.6); "" without it."""
    for part in value.split(";")[1:]:
        key, _, text = part.partition("=")
        if key.strip().lower() == name:
            return text.strip().strip('"')
    return ""
