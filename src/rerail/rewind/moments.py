"""Which snapshot on a tape shows the files of a step, and what changed from one to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rerail.errors import NotOnTape, RerailError, TapeAltered
from rerail.llm.numbered import model_calls
from rerail.llm.steps import Attempt
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.trees import Tree
from rerail.workspace.changes import Changes, changes, held
from rerail.workspace.kept import Kept

END: Final = 0
"""Stands for the end of the run where a step's number would."""


@dataclass(slots=True)
class Moments:
    """The snapshots of the workspace by step, and at `END` that of the run's end, if there is one.

    `damage` notes the trees that cannot be read.
    """

    kept: Kept
    at: dict[int, WorkspaceSnapshot]
    damage: list[RerailError] = field(default_factory=list)

    @classmethod
    def of(
        cls, kept: Kept, attempts: Mapping[int, Attempt], folder: str | None = None
    ) -> "Moments":
        """Find them; `attempts` are the tape's model calls by exchange, `folder` another folder.

        Of a step with several attempts it is that of the first. What a rewind put in place counts.
        """
        found: dict[int, WorkspaceSnapshot] = {}
        for snapshot in kept.workspace if folder is None else kept.of(folder):
            if snapshot.why == "end":
                found[END] = snapshot
            for attempt in map(attempts.get, snapshot.exchanges):
                step = _step(attempt, snapshot.seq) if attempt is not None else _NONE
                if snapshot.why == "restored":
                    found[step] = snapshot
                else:
                    found.setdefault(step, snapshot)
        found.pop(_NONE, None)
        return cls(kept, found)

    @classmethod
    def on(cls, tape: Tape) -> "Moments":
        """Those of a tape. Raises TapeAltered."""
        return cls.of(Kept(tape), model_calls(tape, exchanges(tape)).steps)

    def tree(self, step: int) -> Tree | None:
        """The files of a step; None where there is no snapshot, or none that can be read."""
        return self._read(self.at.get(step))

    def changed(self, only: int | None = None) -> dict[int, Changes]:
        """What is otherwise at each moment than at the one before, the start being the first.

        `only` asks for one step. Trees are read where they differ.
        """
        found: dict[int, Changes] = {}
        starts = [snapshot for snapshot in self.kept.workspace if snapshot.why == "start"]
        ends = [END] if END in self.at else []
        before = starts[0] if starts else None
        for step in (*sorted(self.at.keys() - {END}), *ends):
            snapshot = self.at[step]
            if before is not None and only in (None, step):
                difference = self._difference(before, snapshot)
                if difference is not None:
                    found[step] = difference
            before = snapshot
        return found

    def _difference(self, before: WorkspaceSnapshot, after: WorkspaceSnapshot) -> Changes | None:
        if before.tree == after.tree:
            return Changes()
        old, new = self._read(before), self._read(after)
        return changes(held(old), held(new)) if old is not None and new is not None else None

    def _read(self, snapshot: WorkspaceSnapshot | None) -> Tree | None:
        if snapshot is None:
            return None
        try:
            return self.kept.tree(snapshot)
        except (TapeAltered, NotOnTape) as error:
            self.damage.append(error)
            return None


_NONE: Final = -1


def _step(attempt: Attempt, event: int) -> int:
    """The step that a snapshot belongs to: on a WebSocket, that of the last turn before it."""
    if not attempt.turns:
        return attempt.step
    return max((turn.step for turn in attempt.turns if turn.event < event), default=_NONE)
