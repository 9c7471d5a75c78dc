"""TypeScript, cold: one compilation in a fresh folder by a process of its own.

This is the verdict that counts. It shares nothing with the kept compiler but the program. What the
configuration says is somebody else's: it can make the compiler write, and not outside the folder.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rerail.errors import RerailError, ToolFailed
from rerail.launch.errand import Errand, run_errand
from rerail.sandbox.handshake import SandboxFailed
from rerail.sandbox.levels import WRITE_RULES
from rerail.sandbox.plane import Plane
from rerail.tools.diagnostics import Diagnostic, Severity
from rerail.tools.layout import Layout
from rerail.tools.programs import Program, last_words

CONFIG: Final = "tsconfig.json"
_LINE: Final = re.compile(
    r"(?:(?P<path>.+?)\((?P<line>\d+),(?P<column>\d+)\): )?"
    r"(?P<severity>error|warning|message|suggestion) TS(?P<code>\d+): (?P<text>.*)"
)
_SEVERITIES: Final[dict[str, Severity]] = {"error": "error", "warning": "warning"}
_WRITES_NOTHING: Final = ("--noEmit", "--incremental", "false", "--composite", "false")
_ENDS_OF_A_COMPILATION: Final = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Compilation:
    """What one compilation said, and the files that it wrote, by path below its output folder."""

    diagnostics: list[Diagnostic]
    written: Mapping[str, str]


def compile_cold(
    program: Program, files: Mapping[str, str], *, seconds: float, options: Sequence[str] = ()
) -> Compilation:
    """Compile these files where nothing else is. Raises `ToolFailed`.

    With `--outDir out` among the options, what was written there comes back.
    """
    with tempfile.TemporaryDirectory(prefix="rerail-cold-") as folder:
        layout = Layout(Path(folder))
        layout.put(files)
        words = [str(program.path), "--project", ".", "--pretty", "false", *options]
        try:
            said = _run(words, layout.root, seconds)
        except RerailError as error:
            raise ToolFailed(f"the TypeScript compiler: {error.what}", hint=error.hint) from error
        if said.timed_out:
            raise ToolFailed(
                f"the TypeScript compiler was not done within {seconds:g} s",
                hint="give it more time, or look at what these files make it do",
            )
        output = said.output.decode(errors="replace")
        found = _read(output, layout.root)
        whole = said.status in _ENDS_OF_A_COMPILATION and not said.cut
        if not whole or bool(said.status) != bool(found):
            raise ToolFailed(
                f"the TypeScript compiler ended with status {said.status} "
                f"and said {len(found)} things",
                hint=f"its last words: {last_words(said)}",
            )
        return Compilation(found, _written(layout.root / "out"))


def _run(words: Sequence[str], root: Path, seconds: float) -> Errand:
    plane = Plane(writable=[root], hidden=[])
    if WRITE_RULES in plane.containment.layers:
        # Where it cannot be entered it has not begun.
        with suppress(SandboxFailed):
            return run_errand(words, cwd=root, environment={}, seconds=seconds, sandbox=plane)
    if "--noEmit" not in words:
        words = [*words, *_WRITES_NOTHING]
    return run_errand(words, cwd=root, environment={}, seconds=seconds)


def _read(output: str, root: Path) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for line in output.split("\n"):
        if matched := _LINE.fullmatch(line):
            found.append(_diagnostic(matched, root))
        elif found and line.strip():
            last = found[-1]
            found[-1] = _with_message(last, f"{last.message}\n{line}".replace(f"{root}/", ""))
    return found


def _diagnostic(matched: re.Match[str], root: Path) -> Diagnostic:
    path = matched["path"] or ""
    if path.startswith("../"):
        path = str((root / path).resolve())
    return Diagnostic(
        path=path,
        line=int(matched["line"] or 0),
        column=int(matched["column"] or 0),
        code=f"TS{matched['code']}",
        message=matched["text"].replace(f"{root}/", ""),
        severity=_SEVERITIES.get(matched["severity"], "note"),
    )


def _with_message(one: Diagnostic, message: str) -> Diagnostic:
    return Diagnostic(one.path, one.line, one.column, one.code, message, one.severity)


def _written(folder: Path) -> dict[str, str]:
    places = sorted(place for place in folder.rglob("*") if place.is_file())
    return {
        place.relative_to(folder).as_posix(): place.read_text("utf-8", errors="replace")
        for place in places
    }
