"""Files in which a probe says what is long, and finds its answers. Knows nothing of what they hold.

The folder is the agent's to write in, and an agent may be kept from what we may do: so everything
is reached from the folder that was made, no link is followed, and nothing but a file is read.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Beside:
    """One such folder, made by us and held open until `close`."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        path.mkdir(mode=0o700)
        self._folder = os.open(path, _FOLDER)

    def take(self, name: str) -> bytes:
        """What a file holds, which is not needed any more; nothing where there is none."""
        try:
            with os.fdopen(os.open(name, _READ, dir_fd=self._folder), "rb") as file:
                content = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
            os.unlink(name, dir_fd=self._folder)
        except OSError:
            return b""
        return content

    def put(self, name: str, content: bytes) -> None:
        """Let a file be there, whole or not at all."""
        made = f"{name}.new"
        with suppress(OSError):
            with suppress(FileNotFoundError):
                os.unlink(made, dir_fd=self._folder)
            with os.fdopen(os.open(made, _NEW, 0o600, dir_fd=self._folder), "wb") as file:
                file.write(content)
            os.rename(made, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def close(self) -> None:
        """Use it no more; doing it again is nothing."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
