"""What is wrong with a row, in words: raised where it is met, so that the rest stays readable."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class Damaged(ValueError):
    """What is stored is not what it should be. The message is half a sentence, for people."""


class Missing(Damaged):
    """What should be stored is not there."""


@contextmanager
def reading() -> Iterator[None]:
    """Turn what SQLite says of a damaged file into Damaged."""
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        raise Damaged(f"the file is damaged ({error})") from error
