"""Where a replay's command runs: in a copy of the recorded folder, or in the folder itself.

The copy is seen at the recorded path where the sandbox can do that, else at its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from rerail.errors import UserError
from rerail.launch.run_folder import CHANNEL, place_for_run
from rerail.playback.report import WorkspaceUsed
from rerail.playback.scratch import Scratch
from rerail.sandbox.choose import Sandbox
from rerail.sandbox.mounted import mounted_inside
from rerail.sandbox.view import Bind, passing_folders
from rerail.tape.reader import Tape
from rerail.workspace.seen import Seen

Files = Literal["present", "recorded", "in-place"]
"""The recorded files with present changes on top, those alone, or the folder itself."""

IN_PLACE: Final[Files] = "in-place"
_NAMED: Final = 200


class Choose(Protocol):
    """Chooses a sandbox: `rerail.sandbox.choose.choose_sandbox`."""

    def __call__(
        self,
        *,
        binds: Sequence[Bind] = (),
        writable: Sequence[Path] | None = None,
        private: Sequence[Path] = (),
        sockets: Sequence[Path] = (),
    ) -> Sandbox: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to run in, as the command sees it, and what keeps it there.

    `run_folder` is where probes and the recorder talk (`rerail.launch.run_folder`): both reach it.
    """

    folder: Path
    run_folder: Path
    sandbox: Sandbox | None
    scratch: Scratch | None = None
    files: Files = IN_PLACE
    why: str = ""

    @property
    def is_placed(self) -> bool:
        """Whether the copies are seen at their recorded paths."""
        return self.sandbox is not None and bool(self.sandbox.view.binds)

    @property
    def folders(self) -> list[Seen]:
        """The copies, to be snapshotted; where there are none, nothing is."""
        return self.scratch.seen(placed=self.is_placed) if self.scratch else []

    def reached(self) -> list[str]:
        """What the command may write for real though it works in a copy, as the report says it."""
        if self.sandbox is None or self.scratch is None:
            return []
        private = self.sandbox.view.private
        if self.is_placed:
            found = mounted_inside(private)
            return [
                f"what was written in {folder} was written for real: {inside} is mounted in it"
                for folder, inside in found.items()
            ]
        return [
            f"what named {copy.recorded} by its path may have written in it: it is in {folder}"
            for copy in self.scratch.copies
            for folder in private
            if copy.recorded.is_relative_to(folder)
        ]

    def used(self) -> WorkspaceUsed:
        """What the report says of it, once the command has ended."""
        if self.scratch is None:
            return WorkspaceUsed(files=IN_PLACE, folder=str(self.folder), why=self.why)
        copy = self.scratch.workspace
        try:
            found = self.scratch.differences()
        except OSError as error:
            return self._copied(why=f"the copy cannot be read: {error.strerror}")
        names = [f"{entry.name} (only here)" for entry in found.added]
        names += [f"{entry.name} (only recorded)" for entry in found.removed]
        names += [now.name for _, now in found.changed]
        return self._copied(
            laid_on_top=copy.laid_on_top,
            as_recorded=copy.as_recorded,
            shown=copy.shown,
            empty=copy.empty,
            differing=len(names),
            differs=sorted(names)[:_NAMED],
        )

    def _copied(self, **more: Any) -> WorkspaceUsed:
        return WorkspaceUsed(
            files=self.files,
            folder=str(self.folder),
            at_recorded_path=self.is_placed,
            **more,
        )


@contextmanager
def place_for(
    tape: Tape,
    *,
    files: Files,
    folder: Path,
    why: str,
    environment: Mapping[str, str],
    choose: Choose | None,
    keep: Path | None = None,
    present: Path | None = None,
) -> Iterator[Place]:
    """Prepare a place; its copies are removed at the end, or kept in `keep`, a new folder.

    `folder` is where the command runs if it is not in a copy, and `why` says why that is so, if it
    must be. `present` is the folder whose files are the present ones, where it is not the
    recorded one. Raises UserError where no copy can be made.
    """
    with ExitStack() as stack:
        run_folder = place_for_run()
        stack.callback(_remove_if_empty, run_folder)
        scratch = None
        if files != IN_PLACE and not why:
            scratch = _scratch(tape, stack, files, present)
            why = "" if scratch else "the tape has no snapshots"
        if scratch is None:
            sandbox = choose(sockets=[run_folder / CHANNEL]) if choose else None
            yield Place(folder, run_folder, sandbox, why=why)
            return
        yield _in_a_copy(tape, scratch, files, run_folder, environment, choose)
        if keep is not None:
            scratch.keep(keep)


def _scratch(tape: Tape, stack: ExitStack, files: Files, present: Path | None) -> Scratch | None:
    try:
        scratch = Scratch.make(tape, overlay=files == "present", present=present)
    except OSError as error:
        raise UserError(
            f"cannot make a copy of the recorded folder: {error.strerror or error}",
            hint="set TMPDIR to a folder with room, or run in the folder with --workspace in-place",
        ) from error
    return stack.enter_context(scratch) if scratch else None


def _in_a_copy(
    tape: Tape,
    scratch: Scratch,
    files: Files,
    run_folder: Path,
    environment: Mapping[str, str],
    choose: Choose | None,
) -> Place:
    recorded, sandbox = Path(tape.run.cwd), None
    if choose is not None:
        sandbox = choose(
            binds=scratch.binds,
            writable=[run_folder],
            private=passing_folders(environment),
            sockets=[run_folder / CHANNEL],
        )
    if sandbox is None or not sandbox.view.binds:
        scratch.show_by_links()
        recorded = scratch.place_of(recorded)
    return Place(recorded, run_folder, sandbox, scratch, files)


def _remove_if_empty(folder: Path) -> None:
    """Whoever used it has removed it."""
    with suppress(OSError):
        folder.rmdir()
