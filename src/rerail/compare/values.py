"""JSON read for comparing: number text kept, repeated keys refused. Knows nothing of HTTP.

A number is read as `bytes`, the text it was written with, so `1.0` is not `1` and `1e2` is not
`100`, and an integer of any length costs nothing. No other value is ever `bytes`.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final, TypeAlias, cast

import msgspec

Value: TypeAlias = "dict[str, Value] | list[Value] | str | bytes | bool | None"

ANYTHING: Final = b"*"
"""Stands where a rule took a list item out; not the text of any number."""


class _RepeatedKey(ValueError):
    pass


def _object(pairs: list[tuple[str, Value]]) -> Value:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKey
    return found


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=str.encode,
    parse_float=str.encode,
    parse_constant=str.encode,
    strict=False,
)
_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")


class Unreadable(Exception):
    """Not JSON, or JSON that has no single reading: repeated keys, nesting without end."""


def read_json(content: bytes) -> Value:
    """The value of a JSON text in UTF-8 (RFC 8259).

    Raises `Unreadable` for anything else, repeated keys and nesting past Python's recursion limit
    included: such a body is compared as bytes.
    """
    try:
        return cast("Value", _DECODER.decode(content.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def value_digest(value: Value) -> bytes:
    """SHA-256 of a value in a form where equal values, and only they, have equal bytes.

    Raises `Unreadable` where the value is nested past what can be encoded.
    """
    try:
        return hashlib.sha256(_encode(value)).digest()
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error


def _encode(value: Value) -> bytes:
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_with_surrogates(value))


def _with_surrogates(value: Value) -> object:
    r"""The value with strings and objects in forms of their own: "\ud800" has no UTF-8 form.

    JavaScript makes such strings by cutting a text in the middle of a character.
    """
    if isinstance(value, str):
        return _EXT(1, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return [_with_surrogates(item) for item in value]
    if isinstance(value, dict):
        pairs = sorted((key.encode("utf-8", "surrogatepass"), key) for key in value)
        return [_OBJECT, *([name, _with_surrogates(value[key])] for name, key in pairs)]
    return value


_EXT: Final = msgspec.msgpack.Ext
_OBJECT: Final = _EXT(2, b"")


def walk(value: Value) -> Iterator[tuple[dict[str, Value], str] | tuple[list[Value], int]]:
    """Every place inside a value as (container, key), in one fixed order: keys sorted.

    A place is handed out before what is in it is looked at, so it may be given another value.
    """
    waiting: list[Value] = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict):
            for key in sorted(container):
                yield container, key
            waiting.extend(container[key] for key in sorted(container, reverse=True))
        elif isinstance(container, list):
            for index in range(len(container)):
                yield container, index
            waiting.extend(reversed(container))


def show(value: Value) -> str:
    """A value as a person would read it: a string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    try:
        return json_text(value)
    except RecursionError:
        return "(nested too deeply to be shown)"


def json_text(value: Value, *, indent: int | None = None) -> str:
    """A value as JSON, numbers as they were written. Raises RecursionError where it is too deep."""
    separators = (", ", ": ") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, default=_marked, separators=separators, indent=indent
    )
    return _NUMBER.sub(r"\1", text)


def _marked(number: object) -> str:
    assert isinstance(number, bytes)
    return f"\x00{number.decode()}\x00"


_NUMBER: Final = re.compile(r'"\\u0000([^"\\]*)\\u0000"')
