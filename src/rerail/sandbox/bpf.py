"""Small programs over a system call's number and arguments, as seccomp(2) takes them.

Bytes out; makes no system call. An instruction that jumps names a label, resolved at the end.
"""

import struct
from typing import Final

NUMBER: Final = 0
ARCHITECTURE: Final = 4
"""Offsets in struct seccomp_data (seccomp(2))."""

ALLOW: Final = 0x7FFF0000
ASK: Final = 0x7FC00000
"""The verdict by which a call waits until a supervisor has decided (seccomp_unotify(2))."""

_ERRNO: Final = 0x00050000

_LOAD_WORD: Final = 0x20
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_AT_LEAST: Final = 0x35
_JUMP_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06


def argument(index: int, *, high: bool = False) -> int:
    """Where a half of an argument, the low one or the high, is on a little-endian machine."""
    return 16 + 8 * index + 4 * high


def refuse(errno: int) -> int:
    """The verdict by which a call fails with this error number."""
    return _ERRNO | errno


_Instruction = tuple[int, int, str]
"""A code, its value, and the label it jumps to, if any."""


class Program:
    """Instructions in order; a jump goes forward to its label, or on to the next instruction."""

    def __init__(self) -> None:
        self._instructions: list[_Instruction] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Name the next instruction."""
        self._labels[name] = len(self._instructions)

    def load(self, offset: int) -> None:
        """Take a word of the call."""
        self._instructions.append((_LOAD_WORD, offset, ""))

    def mask(self, bits: int) -> None:
        """Keep these bits of the word."""
        self._instructions.append((_AND, bits, ""))

    def when_equal(self, value: int, target: str) -> None:
        """Jump if the word has this value."""
        self._instructions.append((_JUMP_IF_EQUAL, value, target))

    def when_at_least(self, value: int, target: str) -> None:
        """Jump if the word is this value or more."""
        self._instructions.append((_JUMP_IF_AT_LEAST, value, target))

    def when_any_bit(self, bits: int, target: str) -> None:
        """Jump if the word has one of these bits."""
        self._instructions.append((_JUMP_IF_ANY_BIT, bits, target))

    def end(self, verdict: int) -> None:
        """Decide."""
        self._instructions.append((_RETURN, verdict, ""))

    def encode(self) -> bytes:
        """The program as an array of struct sock_filter."""
        return b"".join(
            struct.pack("=HBBI", code, self._distance(at, target), 0, value)
            for at, (code, value, target) in enumerate(self._instructions)
        )

    def _distance(self, at: int, target: str) -> int:
        return self._labels[target] - at - 1 if target else 0
