"""All that a script has been told, in order: enough to bring it to the same pause again. Pure."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Literal

import msgspec
from msgspec import Struct

from rerail.errors import TapeAltered

Kind = Literal["tool", "host"]


class Told(Struct, frozen=True, array_like=True):
    """One thing that a script was told.

    `name` is the tool, or what of the host was asked (`time.time`). `value` is JSON from a tool,
    MessagePack from the host. `raised` is the kind of an error in its place. `arguments` is the
    SHA-256 of what a tool was asked.
    """

    kind: Kind
    name: str
    value: bytes
    raised: str = ""
    arguments: bytes = b""


_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_DECODER: Final = msgspec.msgpack.Decoder(list[Told])


def encode_history(history: list[Told]) -> bytes:
    """As one content of a tape."""
    return _ENCODER.encode(history)


def decode_history(data: bytes) -> list[Told]:
    """What `data` holds. Raises TapeAltered where that is no history."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TapeAltered("what the script had been told cannot be read") from error


class HistoryDigest:
    """The digest (SHA-256) of a history that grows: over its entries as they stand in one."""

    __slots__ = ("_hash",)

    def __init__(self, history: Iterable[Told] = ()) -> None:
        self._hash = sha256()
        for told in history:
            self.add(told)

    def add(self, told: Told) -> None:
        """One more thing that the script was told."""
        self._hash.update(_ENCODER.encode(told))

    def digest(self) -> bytes:
        """Over all so far."""
        return self._hash.digest()


def encode_asked(value: float | bytes) -> bytes:
    """What the host said of its clock (seconds since 1970), or entropy."""
    return _ENCODER.encode(value)


def decode_asked(data: bytes) -> float | bytes:
    """The same back."""
    try:
        return msgspec.msgpack.decode(data, type=float | bytes)
    except msgspec.MsgspecError as error:
        raise TapeAltered("what the host had said cannot be read") from error
