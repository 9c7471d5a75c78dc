"""Whether a rewound run came to its step with the files that were there when it was recorded."""

from rerail.rewind.moments import Moments
from rerail.rewind.report import FilesAtStep
from rerail.workspace.changes import changes, held, same_thing

_NAMED = 200


def files_at(step: int, source: Moments, fork: Moments) -> FilesAtStep | None:
    """The difference of the two; None where one of them has no snapshot of the step."""
    recorded, now = source.tree(step), fork.tree(step)
    if recorded is None or now is None:
        return None
    found = changes(held(recorded), held(now), same=same_thing)
    names = [entry.name for entry in (*found.added, *found.removed)]
    names += [after.name for _, after in found.changed]
    return FilesAtStep(differing=len(names), differs=sorted(names)[:_NAMED])
