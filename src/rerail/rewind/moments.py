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
        snapshot = self.at.get(step)
        try:
            return self.kept.tree(snapshot) if snapshot is not None else None
        except (TapeAltered, NotOnTape) as error:
            self.damage.append(error)
            return None

    def changed(self) -> dict[int, Changes]:
        """What is otherwise at each moment than at the one before, the start being the first."""
        found: dict[int, Changes] = {}
        starts = [snapshot for snapshot in self.kept.workspace if snapshot.why == "start"]
        ends = [END] if END in self.at else []
        before = self._read(starts[0]) if starts else None
        for step in (*sorted(self.at.keys() - {END}), *ends):
            tree = self.tree(step)
            if tree is not None and before is not None:
                found[step] = changes(held(before), held(tree))
            before = tree if tree is not None else before
        return found

    def _read(self, snapshot: WorkspaceSnapshot) -> Tree | None:
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
