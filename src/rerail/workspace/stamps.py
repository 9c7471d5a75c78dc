"""What tells cheaply that a small folder is untouched: the times of all that is in it. Reads none.

Only what was last touched well before it was read is told so (`scan.RACY_NS`): a later touch then
has other times.
"""

import os
from typing import Final

MOST: Final = 64
"""Entries of a folder at most: each is asked for, and who asks does not want to wait."""

Key = tuple[int, int, int, int, int]
"""Times of modification and of change, size, inode, mode."""


def key_of(facts: os.stat_result) -> Key:
    """What is different after a touch."""
    return (
        facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino, facts.st_mode
    )  # fmt: skip


class Stamps:
    """The times of a folder's entries, taken down while it is scanned."""

    __slots__ = ("_left", "_racy", "_whole")

    def __init__(self) -> None:
        self._whole: list[tuple[bytes, Key]] = []
        self._left: list[tuple[bytes, int, int]] = []
        self._racy = False

    def take(self, place: bytes, key: Key, *, before: int) -> None:
        """An entry whose content is kept; not `before` touched, it may be touched unnoticed."""
        if len(self._whole) <= MOST:
            self._whole.append((place, key))
        self._racy = self._racy or max(key[0], key[1]) >= before

    def take_left(self, place: bytes, mode: int, modified: int) -> None:
        """An entry that is left out: only what its tree says of it counts."""
        if len(self._left) <= MOST:
            self._left.append((place, mode, modified))

    def spoil(self) -> None:
        """Something may change with no times that tell of it."""
        self._racy = True

    @property
    def usable(self) -> bool:
        """Whether they can tell anything."""
        return not self._racy and len(self._whole) + len(self._left) <= MOST

    def hold(self) -> bool:
        """Whether nothing was touched since."""
        try:
            for place, key in self._whole:
                if key_of(os.lstat(place)) != key:
                    return False
            for place, mode, modified in self._left:
                facts = os.lstat(place)
                if facts.st_mode != mode or (modified and facts.st_mtime_ns != modified):
                    return False
        except OSError:
            return False
        return True
