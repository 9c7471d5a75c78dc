"""What is wrong with a row, in words: raised where it is met, so that the rest stays readable."""

import sqlite3
from types import TracebackType
from typing import Final


class Damaged(ValueError):
    """What is stored is not what it should be. The message is half a sentence, for people."""


class Missing(Damaged):
    """What should be stored is not there."""


_OF_A_DAMAGED_FILE: Final = (sqlite3.Error, OverflowError, UnicodeDecodeError)


class reading:  # noqa: N801 - used as a word: `with reading():`
    """Turn what SQLite says of a damaged file into Damaged.

    A class and no generator: it is entered for every row that a replay reads.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, _OF_A_DAMAGED_FILE):
            raise Damaged(f"the file is damaged ({error})") from error
