"""What runs inside an agent's own Python and Node, as files that a child is pointed to.

Nothing of rerail is imported by them, and they import nothing but their own standard library.
"""

from pathlib import Path
from typing import Final, NamedTuple

_FOLDER: Final = Path(__file__).parent


class ProbePaths(NamedTuple):
    """Where the probes are: a folder for PYTHONPATH, a file for Node's `--require`."""

    python: Path
    node_preload: Path


def paths() -> ProbePaths:
    """The probes that came with this rerail."""
    return ProbePaths(_FOLDER / "python", _FOLDER / "node" / "preload.cjs")
