"""Whether a rewound run came to its step with the files that were there when it was recorded."""

from rerail.errors import NotOnTape, TapeAltered
from rerail.llm.steps import steps
from rerail.rewind.report import FilesAtStep
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape
from rerail.tape.trees import Tree
from rerail.workspace.changes import changes, held, same_thing
from rerail.workspace.kept import Kept

_NAMED = 200


def files_at(step: int, source: Tape, fork: Tape) -> FilesAtStep | None:
    """The difference of the two; None where one of them has no snapshot of the step."""
    recorded, now = _tree_at(step, source), _tree_at(step, fork)
    if recorded is None or now is None:
        return None
    found = changes(held(recorded), held(now), same=same_thing)
    names = [entry.name for entry in (*found.added, *found.removed)]
    names += [after.name for _, after in found.changed]
    return FilesAtStep(differing=len(names), differs=sorted(names)[:_NAMED])


def _tree_at(step: int, tape: Tape) -> Tree | None:
    asking = {number for number, one in steps(exchanges(tape)).items() if one.step == step}
    try:
        kept = Kept(tape)
        found = [event for event in kept.workspace if asking.intersection(event.exchanges)]
        return kept.tree(found[0]) if found else None
    except (TapeAltered, NotOnTape):
        return None
