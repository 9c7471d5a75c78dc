"""A file that is there whole or not at all, whenever the process that writes it is killed.

It is written beside its place under a name of its own, and takes its place in one step.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
"""For its owner alone."""

SHARED: Final = 0o666
"""For whom the umask lets, as of a file made by any other program."""


def replace_whole(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file in the place of one that may be there; readers see the one or the other.

    Raises OSError.
    """
    with _aside(path, content, mode) as aside:
        aside.replace(path)


def create_whole(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file where none is. Raises FileExistsError where one is, OSError."""
    with _aside(path, content, mode) as aside:
        os.link(aside, path)  # unlike a rename, it fails where the name is taken


@contextmanager
def _aside(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    aside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(aside, flags, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # or a power cut could leave the name and not the content
        yield aside
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()
