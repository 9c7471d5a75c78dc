"""Commands of the demo: shown as one would type them, run as processes of their own."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

KEY: Final = "sk-demo-0123456789abcdef"
AUTHORITY: Final = "authority.pem"

Say = Callable[[str], None]


class Typed:
    """Runs what a user could type in the demo's folder; `say` is where a line of the story goes.

    `program` is what `rerail` is; by default the one that is installed beside this Python.
    """

    def __init__(self, folder: Path, say: Say, program: Sequence[str] = ()) -> None:
        self.folder = folder
        self.say = say
        self.bin = Path(sys.executable).parent
        self._program = list(program) or _installed(self.bin)

    def run(self, command: Sequence[str]) -> int:
        """Show a command and run it, its output being the user's."""
        self.say(f"\n   $ {_wrapped(command)}\n")
        sys.stdout.flush()
        words = [*self._program, *command[1:]] if command[0] == "rerail" else list(command)
        done = subprocess.run(words, cwd=self.folder, env=self._environment(), check=False)
        sys.stdout.flush()
        self.say("")
        return done.returncode

    def _environment(self) -> dict[str, str]:
        """The user's environment, less what would lead the agent elsewhere."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("OPENAI_", "AGENT_"))
        }
        path = f"{self.bin}{os.pathsep}{kept.get('PATH', os.defpath)}"
        return kept | {"PATH": path, "OPENAI_API_KEY": KEY, "SSL_CERT_FILE": AUTHORITY}


def _installed(bin_folder: Path) -> list[str]:
    script = bin_folder / "rerail"
    return [str(script)] if script.exists() else [sys.executable, "-m", "rerail.cli"]


def _wrapped(command: Sequence[str]) -> str:
    """A command as one would type it, continued over lines where it is long."""
    lines = [""]
    for words in _glued(command):
        if len(lines[-1]) + len(words) > 96:
            lines.append("    ")
        lines[-1] += f"{' ' if lines[-1].strip() else ''}{words}"
    return " \\\n   ".join(lines)


def _glued(command: Sequence[str]) -> Iterator[str]:
    """The words of a command, an option and its value as one."""
    waiting = ""
    for word in map(shlex.quote, command):
        if waiting and not word.startswith("-"):
            yield f"{waiting} {word}"
            waiting = ""
            continue
        if waiting:
            yield waiting
        waiting = word if word.startswith("-") and word != "--" and "=" not in word else ""
        if not waiting:
            yield word
    if waiting:
        yield waiting
