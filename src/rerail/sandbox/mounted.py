"""What is mounted inside a folder, read from the kernel's table. Mounts nothing.

Such a folder cannot be made private: in a namespace the kernel lets nobody look behind a mount, and
an overlay would.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_TABLE: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def mounted_inside(folders: Iterable[Path], table: Path = _TABLE) -> dict[Path, Path]:
    """For each folder that has a mount below it, the first of them; none where nobody can say."""
    with suppress(OSError):
        mounts = [_place(line) for line in table.read_bytes().splitlines()]
        return {
            folder: inside[0]
            for folder in folders
            if (inside := [place for place in mounts if folder in place.parents])
        }
    return {}


def _place(line: bytes) -> Path:
    """The fifth field; spaces and their kin are written as numbers (proc(5))."""
    text = _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4])
    return Path(text.decode(errors="surrogateescape"))
