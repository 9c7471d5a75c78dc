"""A command's own view of the file system, made of mounts that nobody else sees.

Runs in a child, in a mount namespace it has just made and not used yet; needs no privilege outside.
What is to be seen elsewhere is copied first, before anything covers it. Read-only mounts, not
Landlock: an agent that puts its own commands into a sandbox may still mount there.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from rerail.sandbox import kernel
from rerail.sandbox.handshake import Handshake
from rerail.sandbox.machine import Architecture
from rerail.sandbox.view import View

PLACING: Final = "put the copy in its place"
CLOSING: Final = "make the rest of the file system read-only"

_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a place, not a file of ours
_KERNEL_SETTINGS: Final = (
    Path("/proc/sys"),
    Path("/proc/sysrq-trigger"),
    Path("/proc/irq"),
    Path("/proc/bus"),
    Path("/proc/fs"),
)
"""Written to by whoever is called root, whatever namespace root is in."""

_STAGE: Final = ("/tmp", "/mnt", "/run", "/dev", "/proc")  # noqa: S108 - any folder will do
_OLD_ROOT: Final = "/.rerail-old-root"


def enter(view: View, parent: Handshake, machine: Architecture | None) -> None:
    """Let this process see `view`, and all it starts."""
    with parent.step(PLACING if view.writable is None else CLOSING):
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    placing = _Placing(view, machine)
    with ExitStack() as stack:
        with parent.step(PLACING):
            copies = [stack.enter_context(_copied(bind.source)) for bind in view.binds]
        with parent.step(CLOSING):
            open_to_all = _let_through(view, stack)
            for folder in view.private:
                if folder.is_dir():
                    _copy_on_write(folder)
        with parent.step(PLACING):
            placing.place(copies)
        with parent.step(CLOSING):
            for path, copy in open_to_all.items():
                kernel.attach_tree(copy, str(path))
    if view.writable is not None:
        private = [folder for folder in view.private if folder.is_dir()]
        targets = [bind.target for bind in view.binds if not bind.read_only]
        with parent.step(CLOSING):
            _close([*private, *open_to_all, *targets])
            for bind in view.binds:
                if bind.read_only:  # opened again with the one around it
                    kernel.set_read_only(str(bind.target), True)


@contextmanager
def _copied(path: Path) -> Iterator[int]:
    """What is at a path before anything else is put over it."""
    descriptor = kernel.copy_tree(str(path))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _let_through(view: View, stack: ExitStack) -> dict[Path, int]:
    named = [path for path in view.writable or () if path.exists() and not view.is_placed(path)]
    return {path: stack.enter_context(_copied(path)) for path in named}


def _bind(source: str, target: str) -> None:
    kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)


def _copy_on_write(folder: Path) -> None:
    """What is written to the folder goes to memory; where the kernel cannot, to the folder."""
    descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        place, lower = str(folder), f"/proc/self/fd/{descriptor}"
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        kernel.mount("tmpfs", place, "tmpfs", options=f"mode={mode:o}")
        upper, work = folder / "upper", folder / "work"
        for made in (upper, work):
            made.mkdir()
        upper.chmod(mode)
        layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
        for options in (f"{layers},userxattr", layers):
            with suppress(OSError):
                kernel.mount("overlay", place, "overlay", options=options)
                return
        kernel.unmount(place)
        _bind(place, place)
    finally:
        os.close(descriptor)


# Binds.


class _Placing:
    """Puts things where they are to be seen, and leaves nothing behind where nothing was."""

    def __init__(self, view: View, machine: Architecture | None) -> None:
        self._binds = view.binds
        self._machine = machine
        self._private = set(view.private)
        self._filled: set[Path] = set()

    def place(self, copies: Sequence[int]) -> None:
        """Attach a copy of each bind's source, as `copy_tree` gave it, to its target."""
        for bind, copy in zip(self._binds, copies, strict=True):
            target = str(bind.target)
            if not bind.target.exists():
                self._make_way(bind.target, folder=stat.S_ISDIR(os.fstat(copy).st_mode))
            kernel.attach_tree(copy, target)
            if bind.read_only:
                kernel.set_read_only(target, True)
            else:
                self._private.add(bind.target)

    def _make_way(self, target: Path, *, folder: bool) -> None:
        ancestor = next(parent for parent in target.parents if parent.exists()).resolve()
        ours = any(ancestor.is_relative_to(place) for place in self._private)
        if not ours and ancestor not in self._filled:
            self._cover(ancestor)
        missing = [parent for parent in target.parents if not parent.exists()]
        for place in reversed(missing):
            place.mkdir()
            self._filled.add(place.resolve())
        if folder:
            target.mkdir()
        else:
            target.touch()

    def _cover(self, folder: Path) -> None:
        """Replace a folder by one in memory: everything is as it was there, and we may fill it."""
        if folder == Path("/"):
            self._replace_root()
        else:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
                kernel.mount("tmpfs", str(folder), "tmpfs", options=f"mode={mode:o}")
                _show_all(Path(f"/proc/self/fd/{descriptor}"), folder)
            finally:
                os.close(descriptor)
        self._filled.add(folder)

    def _replace_root(self) -> None:
        """The root cannot be covered; another takes its place (pivot_root(2))."""
        if self._machine is None:
            raise OSError(errno.ENOSYS, "the number of pivot_root is not known")
        stage = next(place for place in _STAGE if Path(place).is_dir())
        kernel.mount("tmpfs", stage, "tmpfs", options="mode=755")
        Path(stage + _OLD_ROOT).mkdir()
        kernel.pivot_root(self._machine.pivot_root, stage, stage + _OLD_ROOT)
        os.chdir("/")
        _show_all(Path(_OLD_ROOT), Path("/"))
        kernel.unmount(_OLD_ROOT)
        Path(_OLD_ROOT).rmdir()


def _show_all(source: Path, target: Path) -> None:
    for there in source.iterdir():
        here = target / there.name
        mode = there.lstat().st_mode
        if stat.S_ISLNK(mode):
            here.symlink_to(there.readlink())
            continue
        if stat.S_ISDIR(mode):
            here.mkdir(exist_ok=True)
        else:
            here.touch()
        _bind(str(there), str(here))


# Writing.


def _close(writable: Sequence[Path]) -> None:
    for folder in ("/dev", "/proc"):
        _bind(folder, folder)
    if _SHARED_MEMORY.is_dir() and _SHARED_MEMORY not in writable:
        kernel.mount("tmpfs", str(_SHARED_MEMORY), "tmpfs", options="mode=1777")
    if os.geteuid() == 0:
        _keep_root_out()
    kernel.set_read_only("/", True)
    for path in ("/dev", *map(str, writable)):
        _open(path)
    _open("/proc", below_too=False)


def _keep_root_out() -> None:
    """Root owns the disks and the kernel's settings in every namespace."""
    for path in _KERNEL_SETTINGS:
        if path.exists():
            _bind(str(path), str(path))
    for device in Path("/dev").iterdir():
        if stat.S_ISBLK(device.lstat().st_mode):
            _bind(os.devnull, str(device))


def _open(path: str, *, below_too: bool = True) -> None:
    """Allow writing at a mount, where the machine itself does."""
    for deep in (True, False) if below_too else (False,):
        with suppress(PermissionError):
            kernel.set_read_only(path, False, below_too=deep)
            return
