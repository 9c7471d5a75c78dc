"""What a judge needs on this machine: the pinned compiler, kept running, and a Node."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rerail.errors import ToolMissing, UserError
from rerail.launch.errand import run_errand
from rerail.tools.programs import find_typescript
from rerail.tools.typescript import TypeScript

PINNED: Final = "7.0.2"
"""The version whose verdict counts: another finds other errors in the same files."""

_OLDEST_NODE: Final = 20
_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a judge; `with` starts the compiler and stops it."""

    typescript: TypeScript
    node: Path
    node_major: int

    def __enter__(self) -> Self:
        self.typescript.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.typescript.stop()


def find_tools(
    *,
    environment: Mapping[str, str],
    beside: Path,
    typescript: Path | None = None,
    node: Path | None = None,
) -> Tools:
    """Find them, as `find_typescript` does, and `node` on PATH. Raises `ToolMissing`."""
    program = find_typescript(typescript, environment=environment, beside=beside)
    if program.version != PINNED:
        raise ToolMissing(
            f"the tasks are judged by TypeScript {PINNED}, and {program.path} is {program.version}",
            hint=f"npm install typescript@{PINNED}",
        )
    found = node or shutil.which("node", path=environment.get("PATH", ""))
    if found is None:
        raise ToolMissing("there is no `node` on PATH", hint="install Node 20 or newer")
    return Tools(TypeScript(program), Path(found), _major(Path(found)))


def _major(node: Path) -> int:
    words = [str(node), "--version"]
    try:
        said = run_errand(words, cwd=Path("/"), environment={}, seconds=_SECONDS)
    except UserError as error:
        raise ToolMissing(f"{node} cannot be run: {error.what}", hint=error.hint) from error
    told = said.output.decode(errors="replace").strip()
    major = re.match(r"v(\d+)\.", told)
    if not said.well or major is None or int(major[1]) < _OLDEST_NODE:
        raise ToolMissing(f"{node} is {told or 'no Node'}", hint="install Node 20 or newer")
    return int(major[1])
