"""Events to bytes and back, MessagePack maps that describe themselves. Knows no storage.

An event is encoded once; the bytes are what is hashed and what is kept, and nothing is ever
re-encoded to check a hash. A reader skips fields it does not know, and gives a kind it does not
know as `UnknownEvent`.
"""

import re
from functools import cache
from typing import Any, Final, get_args

import msgspec
from msgspec.structs import asdict, replace

from rerail.tape.records import AnyEvent, Component, Event, RunStarted, UnknownEvent

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_PLAIN_ENCODER: Final = msgspec.msgpack.Encoder()
_PLAIN_DECODER: Final = msgspec.msgpack.Decoder()
_COMPONENTS: Final = frozenset(get_args(Component))
_STRAY: Final = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_NOT_AN_EVENT: Final = "not an event"
_MAP_16: Final = 0xDE
_SHORT_MAP: Final = 0x80
_IN_A_SHORT_MAP: Final = 16


def encode(event: Event, seq: int) -> bytes:
    """The bytes of `event` as number `seq`: what is hashed and stored.

    Text that is not valid Unicode (an argument of arbitrary bytes) has its stray bytes spelled
    out as `\\udcXX`, since MessagePack text is UTF-8.
    """
    numbered = replace(event, seq=seq)
    try:
        return _shortest(_ENCODER.encode(numbered))
    except UnicodeEncodeError:
        fields = {name: _spelled_out(value) for name, value in asdict(numbered).items()}
        if isinstance(event, RunStarted):
            fields["stray"] = True
        return _shortest(_ENCODER.encode(replace(numbered, **fields)))


def as_given(run: RunStarted, text: str) -> str:
    """A text of the first event as it was given: stray bytes are bytes again (surrogateescape)."""
    return _STRAY.sub(lambda found: chr(int(found[1], 16)), text) if run.stray else text


def _shortest(data: bytes) -> bytes:
    """The encoder takes a long header where a kind has many fields, however few are there.

    So a field that is added to a kind, and has its default, changes no byte of an event.
    """
    if data[0] == _MAP_16 and not data[1] and data[2] < _IN_A_SHORT_MAP:
        return bytes((_SHORT_MAP | data[2],)) + data[3:]
    return data


def decode(data: bytes) -> Event:
    """The event that `data` holds. Raises ValueError where it holds none."""
    try:
        return _decoder().decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_unknown(data)


@cache
def _decoder() -> "msgspec.msgpack.Decoder[AnyEvent]":
    """Made when something is read: of so many kinds it takes a millisecond to make."""
    return msgspec.msgpack.Decoder(AnyEvent)


def renumbered(data: bytes, seq: int) -> bytes:
    """The same event under another number, fields that this version does not know included."""
    fields = _PLAIN_DECODER.decode(data)
    return _PLAIN_ENCODER.encode({**fields, "seq": seq})


def _decode_unknown(data: bytes) -> UnknownEvent:
    try:
        fields = _PLAIN_DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise ValueError(_NOT_AN_EVENT) from error
    if not isinstance(fields, dict):
        raise ValueError(_NOT_AN_EVENT)
    name: object = fields.get("kind")
    component: Any = fields.get("component")
    numbers = [fields.get("seq", 0), fields.get("at"), fields.get("wall")]
    if not isinstance(name, str) or not all(type(number) is int for number in numbers):
        raise ValueError(_NOT_AN_EVENT)
    known: Component = component if component in _COMPONENTS else "recorder"
    return UnknownEvent(seq=numbers[0], at=numbers[1], wall=numbers[2], component=known, name=name)


def _spelled_out(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_spelled_out(item) for item in value]
    if isinstance(value, dict):
        return {_spelled_out(name): _spelled_out(item) for name, item in value.items()}
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: _spelled_out(it) for name, it in asdict(value).items()})
    return value
