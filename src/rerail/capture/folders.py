"""Which folders a recording snapshots, decided before the command starts. Opens none of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from rerail.workspace.seen import Seen

SNAPSHOTS: Final = "at the start, each model call and the end"
"""When folders are read, as the first event says it."""


_SYSTEM: Final = (
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "proc", "root",
    "run", "sbin", "srv", "sys", "usr", "var", "usr/bin", "usr/lib", "usr/local", "usr/share",
    "var/lib", "var/log",
)  # fmt: skip
"""Folders of the system, below its root: each may hold a project, none is one."""

_KERNEL: Final = (Path("/proc"), Path("/sys"))
"""What is in them is made up as it is read."""


class Folders(Struct, frozen=True):
    """What is to be snapshotted: the workspace first, and what of the folders is left out.

    `tape` is where the tape goes: it holds neither itself nor what lies beside it.
    """

    all: Sequence[Seen]
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    tape: Path | None = None


def refused(folder: Path, *, home: str, temporary: str) -> str:
    """Why a folder that nobody named is not snapshotted, "" where it may be."""
    homes = [Path(home)] if home else []
    if folder == folder.parent:
        return "it is the root of the file system"
    if any(folder == place or folder in place.parents for place in homes):
        return "it is the home folder, or above it"
    if folder in map(Path, ("/tmp", "/var/tmp", temporary)):  # noqa: S108 - not to be used
        return "it is everybody's folder for temporary files"
    if any(folder == Path("/", name) for name in _SYSTEM) or any(
        folder.is_relative_to(place) for place in _KERNEL
    ):
        return "it is a folder of the system"
    return ""
