"""The hidden run-time test: the project compiled by itself, then run by Node against the test.

Code that an agent wrote runs here: without an environment, within a time, under Node's own
permissions, which leave it its folder to read and nothing to write or start, and where the kernel
allows it in a sandbox, which leaves it no network either. It shares a process with the test, and so
could bend what the test stands on: what it finds there is frozen (`around.mjs`).
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from rerail.errors import ToolFailed
from rerail.experiment.tasks.toolbox import Tools
from rerail.launch.errand import Errand, run_errand
from rerail.sandbox.handshake import SandboxFailed
from rerail.sandbox.plane import Plane
from rerail.tools.layout import Layout
from rerail.tools.typescript_cold import compile_cold

SECONDS: Final = 20.0
_AROUND: Final = "__judge__.mjs"
_TEST: Final = "__test__.mjs"
_UNBENT: Final = ("--frozen-intrinsics", "--disallow-code-generation-from-strings")
_SHOWN: Final = 2000
_FAILED: Final = re.compile(r"^\w*Error\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunTest:
    """How the test ended: passed or not, and the end of what it said where it did not."""

    passed: bool
    said: str = ""

    @property
    def why(self) -> str:
        """The line that names the failure."""
        found = _FAILED.search(self.said)
        return found.group() if found else self.said.strip().partition("\n")[0]


def run_test(files: Mapping[str, str], test: str, word: str, tools: Tools) -> RunTest:
    """Run a test that imports the compiled files beside it. It is through when `word` is said.

    A word that neither it nor they know: a program that just ends well has not passed.
    """
    options = ("--noEmit", "false", "--outDir", "out")
    program, seconds = tools.typescript.program, tools.typescript.seconds
    written = compile_cold(program, files, seconds=seconds, options=options).written
    if not written:
        raise ToolFailed("the compiler wrote nothing to run", hint="look at its outDir")
    with tempfile.TemporaryDirectory(prefix="rerail-run-") as folder:
        layout = Layout(Path(folder))
        ours = {"package.json": files["package.json"], _AROUND: _around(), _TEST: test}
        layout.put({**written, **ours})
        words = [str(tools.node), *_permissions(tools, layout.root), *_UNBENT, _AROUND, word]
        said = _run(words, layout.root)
    if said.timed_out:
        return RunTest(False, f"it did not end within {SECONDS:g} s")
    if said.well and said.output.decode(errors="replace").split()[-1:] == [word]:
        return RunTest(True)
    last = (said.errors or said.output)[-_SHOWN:].decode(errors="replace")
    return RunTest(False, last or f"it ended with {said.status}")


@cache
def _around() -> str:
    return Path(__file__).with_name("around.mjs").read_text("utf-8")


def _run(words: list[str], folder: Path) -> Errand:
    try:
        plane = Plane(writable=[folder], hidden=[])
        return run_errand(words, cwd=folder, environment={}, seconds=SECONDS, sandbox=plane)
    except SandboxFailed:  # it has not begun: Node's permissions alone must do
        return run_errand(words, cwd=folder, environment={}, seconds=SECONDS)


def _permissions(tools: Tools, folder: Path) -> list[str]:
    flag = "--permission" if tools.node_major >= 24 else "--experimental-permission"
    return ["--no-warnings", flag, f"--allow-fs-read={folder}/*"]
