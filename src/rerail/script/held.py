"""A run whose task is held, and a person who goes on all the same, with a reason for the tape."""

import os

from rerail.holds import Hold, Holds, TaskHeld


def holds_met(*, run_id: str, task_id: str, despite: str) -> list[Hold]:
    """The holds that stand. Raises TaskHeld where one does and nobody says why to go on."""
    holds = Holds.open_if_there(os.environ)
    if holds is None:
        return []
    with holds:
        standing = holds.on(run_id=run_id, task_id=task_id)
    if standing and not despite:
        hold = standing[0]
        raise TaskHeld(
            f"{hold.task_id or hold.run_id} is held on this machine ({hold.id}): {hold.reason}",
            hint="go on with despite_hold=WHY, which is put on the tape",
        )
    return standing
