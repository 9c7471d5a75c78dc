"""Whether a rewound run came to its step with the files that were there when it was recorded.

On request they are made to be: `PutInPlace` does it while the agent waits for its first live reply.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta, Struct

from rerail.errors import NotOnTape, TapeAltered, UserError
from rerail.llm.numbered import model_calls
from rerail.playback.onward import CannotGoOn
from rerail.playback.put_back import put_back
from rerail.playback.scratch import Copy
from rerail.rewind.moments import Moments
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.workspace.changes import changes, held, same_thing
from rerail.workspace.kept import Kept

_NAMED = 200


class FilesAtStep(Struct, frozen=True, kw_only=True):
    """The files with which the run came to the step, against those that were recorded there."""

    differing: Annotated[int, Meta(description="paths that differ in content or kind")] = 0
    differs: Annotated[list[str], Meta(description="the first of them")] = []
    put_in_place: Annotated[bool, Meta(description="and were made to be as recorded")] = False


def files_at(step: int, source: Moments, fork: Moments) -> FilesAtStep | None:
    """The difference of the two; None where one of them has no snapshot of the step."""
    recorded, now = source.tree(step), fork.tree(step)
    if recorded is None or now is None:
        return None
    found = changes(held(recorded), held(now), same=same_thing)
    names = [entry.name for entry in (*found.added, *found.removed)]
    names += [after.name for _, after in found.changed]
    return FilesAtStep(differing=len(names), differs=sorted(names)[:_NAMED])


@dataclass(slots=True)
class PutInPlace:
    """The recorded files of a step, for all folders. `names` are the paths that differed."""

    kept: Kept
    step: int
    snapshots: dict[str, WorkspaceSnapshot]
    names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tape: Tape, step: int) -> "PutInPlace":
        """Raises NotOnTape, UserError where there are no files to put in place."""
        kept = Kept(tape)
        attempts = model_calls(tape, exchanges(tape)).steps
        folders = dict.fromkeys(event.folder for event in kept.all)
        at = {folder: Moments.of(kept, attempts, folder).at.get(step) for folder in folders}
        found = {folder: snapshot for folder, snapshot in at.items() if snapshot is not None}
        if not found:
            raise NotOnTape(
                f"there is no snapshot of step s{step} on this tape to put in place",
                hint="leave --restore-workspace out: the run brings its files there by itself",
            )
        if any(snapshot.inconsistent for snapshot in found.values()):
            raise UserError(
                f"the files of s{step} changed while they were read: they are of no one moment",
                hint="go back to another step, or leave --restore-workspace out",
            )
        return cls(kept, step, found)

    def put(self, folders: Sequence[Copy]) -> bool:
        """Put them in place; whether something was otherwise. Raises CannotGoOn."""
        for copy in folders:
            snapshot = self.snapshots.get(str(copy.recorded))
            try:
                if snapshot is not None:
                    self.names += put_back(copy, self.kept.tree(snapshot), self.kept)
            except (OSError, TapeAltered, NotOnTape) as error:
                raise CannotGoOn(
                    f"the files of s{self.step} cannot be put in place: {error}",
                    code="files_not_in_place",
                ) from error
        return bool(self.names)

    @property
    def differed(self) -> FilesAtStep:
        """What the report says of it."""
        named = self.names[:_NAMED]
        return FilesAtStep(differing=len(self.names), differs=named, put_in_place=True)
