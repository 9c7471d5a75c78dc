"""Processes that `multiprocessing` starts anew: the parent counts them, so that each has one name.

Siblings are started with the same words and race to say hello; who was started first is known only
to the one who started them.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "RERAIL_CHILD"


class _Count:
    started = 0


def install_multiprocessing(module: "Any") -> None:
    """Tell each child which one it is; `module` is `multiprocessing.util`."""
    spawn = module.spawnv_passfds

    def spawnv_passfds(path: "Any", args: "Any", passfds: "Any") -> int:
        os.environ[VARIABLE] = str(_Count.started)
        _Count.started += 1
        try:
            return spawn(path, args, passfds)  # type: ignore[no-any-return]
        finally:
            os.environ.pop(VARIABLE, None)

    module.spawnv_passfds = spawnv_passfds


def renewed() -> None:
    """A fork counts its own."""
    _Count.started = 0
