"""Freezing a run: its tape as it was left, read-only, and a sealed copy where nobody sealed it.

The tape's bytes are never written. What a killed recorder left is a pair, the tape and its log:
both are copied into the case as they are, and a sealed copy is made of them there. What another
program wrote is copied, too, and left as it is.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from stat import S_IMODE

from rerail.errors import UserError
from rerail.tape.companions import HOLDING, with_companions
from rerail.tape.reader import State, Tape
from rerail.tape.repair import repair


class StillRunning(UserError):
    """The run is being recorded: there is nothing to freeze yet."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A tape as the case keeps it.

    `path` is what is read from now on: the tape, or the sealed copy of one that was lost. `files`
    gives the SHA-256 of each file as it was found, `lost` what the repair could not save.
    """

    path: Path
    tape_id: str
    state: State
    run_id: str
    task_id: str
    files: dict[str, str]
    lost: tuple[str, ...] = ()


def freeze(tape: Path, originals: Path) -> Frozen:
    """Make a tape read-only, and keep what a killed recorder left of it in the folder `originals`.

    Raises TapeUnreadable, StillRunning.
    """
    with Tape.open(tape) as opened:
        state = opened.state
        if state == "live":
            hint = "freeze it when it has ended: a run that goes on has not failed yet"
            raise StillRunning(f"{tape} is still being recorded", hint=hint)
        run_id, task_id = opened.run.run_id, opened.run.task_id
    files = list(_files(tape))
    digests = {path.name: _digest(path) for path in files}
    for path in files:
        path.chmod(path.stat().st_mode & ~0o222)
    kept, lost = (tape, ()) if state == "finished" else _sealed_copy(tape, files, originals)
    with Tape.open(kept) as opened:
        return Frozen(kept.absolute(), opened.id, state, run_id, task_id, digests, lost)


def freeze_file(path: Path, originals: Path) -> tuple[Path, dict[str, str]]:
    """Keep a file that is no tape in the folder `originals`, read-only; its place and its SHA-256.

    The file itself is left alone: it is another program's, which may go on with it.
    """
    originals.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = originals / path.name
    copy.unlink(missing_ok=True)  # of a taking in that came to nothing
    shutil.copyfile(path, copy)
    copy.chmod(0o400)
    return copy, {path.name: _digest(copy)}


@contextmanager
def thawed_on_failure(paths: Iterable[Path]) -> Iterator[None]:
    """Where the block fails, these files may be written again by whoever could before."""
    modes = {file: file.stat().st_mode for path in paths for file in _files(path)}
    try:
        yield
    except BaseException:
        for file, mode in modes.items():
            with suppress(OSError):
                file.chmod(S_IMODE(mode))
        raise


def _sealed_copy(tape: Path, files: list[Path], originals: Path) -> tuple[Path, tuple[str, ...]]:
    originals.parent.mkdir(mode=0o700, exist_ok=True)
    originals.mkdir(mode=0o700)
    for path in files:
        copy = shutil.copyfile(path, originals / path.name)
        copy.chmod(0o400)
    sealed = originals / f"sealed-{tape.name}"
    done = repair(originals / tape.name, sealed)
    sealed.chmod(0o400)
    return sealed, tuple(str(item) for item in done.lost)


def _files(tape: Path) -> Iterator[Path]:
    return (path for path in with_companions(tape, HOLDING) if path.exists())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
