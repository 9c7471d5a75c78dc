"""The folders of one run: the agent's own, and those that only the verdict plane sees.

The agent's are among temporary files. The verdict plane's are in rerail's state folder, which no
agent can read: what a proposal is checked in was never within its reach.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rerail.errors import UsageProblem
from rerail.holds import state_folder
from rerail.workspace.restore import remove_folder

_OURS: Final = "rerail-task-"


class Place:
    """Folders by name, made when first asked for, all gone at the end."""

    def __init__(self, environment: Mapping[str, str], run_id: str) -> None:
        self._state = state_folder(environment) / "runs" / run_id
        try:
            self._state.mkdir(mode=0o700, parents=True)
            self.agent = Path(tempfile.mkdtemp(prefix=_OURS))
        except OSError as error:
            raise UsageProblem(
                f"no folder for the run can be made: {error.strerror}: {error.filename}",
                hint="set XDG_STATE_HOME and TMPDIR to folders that can be written",
            ) from error

    def agents(self, name: str) -> Path:
        """A folder of the agent's plane: `workspace`, `home`, `tmp`, `inputs`."""
        return _made(self.agent / name)

    def own(self, name: str) -> Path:
        """A folder of the verdict plane."""
        return _made(self._state / name)

    def remove(self, *, keep_workspace: bool) -> None:
        """Take everything away, but for a workspace that is to stay. Raises OSError."""
        remove_folder(self._state)
        if not keep_workspace:
            remove_folder(self.agent)
            return
        for entry in os.scandir(self.agent):
            if entry.name != "workspace":
                remove_folder(Path(entry.path))


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
