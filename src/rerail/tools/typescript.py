"""TypeScript, kept: the native compiler answers about a folder that holds exactly what was given.

It is asked through the compiler's own channel (`--api`, JSON-RPC), which knows the stages of a
compilation and the errors of no file; the language server's pull knows neither. No Node is needed.
"""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from rerail.clock import monotonic_ns
from rerail.errors import UsageProblem
from rerail.tools.diagnostics import Diagnostic, Severity
from rerail.tools.kept import SECONDS, Ended, Files, KeptTool
from rerail.tools.layout import Changes, Layout
from rerail.tools.places import place_of
from rerail.tools.programs import Program
from rerail.tools.talk import Refused, Talk
from rerail.tools.typescript_cold import CONFIG, compile_cold
from rerail.tools.typescript_inspect import Inspection, inspect

_SEVERITIES: Final[dict[int, Severity]] = {0: "warning", 1: "error", 2: "note", 3: "note"}


class TypeScript(KeptTool):
    """The native TypeScript compiler, 7.0 or newer, kept running over one private folder."""

    name = "typescript"

    def __init__(self, program: Program, *, seconds: float = SECONDS) -> None:
        super().__init__(seconds=seconds)
        self.program = program
        self._open = ExitStack()
        self._talk: Talk | None = None
        self._layout: Layout | None = None
        self._snapshot: int | None = None

    @property
    def version(self) -> str:
        return self.program.version

    def _begin(self) -> None:
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="rerail-kept-"))
        self._layout = Layout(Path(folder))
        words = [str(self.program.path), "--api", "--async", "--cwd", str(self._layout.root)]
        talk = Talk(self.name, words, cwd=self._layout.root, environment={})
        self._open.callback(talk.close)
        self._talk, self._snapshot = talk, None

    def _end(self) -> None:
        self._open.close()
        self._talk = self._layout = self._snapshot = None

    def inspect(self, files: Files) -> dict[str, Inspection]:
        """What the compiler knows of each source file of the project, errors or not.

        Raises `ToolFailed`.
        """
        with self._lock:
            try:
                return self._repeated(lambda: self._inspected(files))
            except BaseException:
                self._stop()
                raise

    def _run_cold(self, files: Files) -> list[Diagnostic]:
        return compile_cold(self.program, files, seconds=self.seconds).diagnostics

    def _ask(self, files: Files, until_ns: int) -> list[Diagnostic]:
        if CONFIG not in files:
            # Without one there is no project that could be kept. What that means says the cold run.
            self._stop_project()
            return self._run_cold(files)
        try:
            return [self._read(each) for each in self._compilation(files, until_ns)]
        except Refused as refused:
            raise Ended(str(refused)) from refused

    def _stop_project(self) -> None:
        if self._snapshot is not None:
            self._end()
            self._begin()

    def _inspected(self, files: Files) -> dict[str, Inspection]:
        if CONFIG not in files:
            raise UsageProblem(f"there is no {CONFIG}", hint="only a project can be looked into")
        until = monotonic_ns() + int(self.seconds * 1e9)
        try:
            project = self._opened(files, until)
            own = {self._place(path): path for path in files}
            return {
                own[place]: inspect(partial(self._put_question, project, until), place)
                for place in self._put_question(project, until, "getSourceFileNames")
                if place in own
            }
        except Refused as refused:
            raise Ended(str(refused)) from refused

    # One compilation, stage by stage, as the compiler itself goes through them: what is wrong
    # early keeps it from looking further.

    def _compilation(self, files: Files, until_ns: int) -> list[dict[str, Any]]:
        project = self._opened(files, until_ns)

        def ask(what: str) -> list[dict[str, Any]]:
            found = self._put_question(project, until_ns, f"get{what}Diagnostics")
            if not isinstance(found, list):
                raise Ended(f"get{what}Diagnostics gave no list")
            return found

        found = self._told_in_stages(ask)
        if _writes_declarations(project["compilerOptions"], wrong=bool(found)):
            found += ask("Declaration")
        return found

    @staticmethod
    def _told_in_stages(ask: Callable[[str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        config = ask("ConfigFileParsing")
        if syntax := ask("Syntactic"):
            return config + syntax
        program, early = ask("Program"), _others(ask("Global"), config)
        if program or early:
            return config + program + early
        # Some globals are missed only while checking.
        return config + ask("Semantic") + _others(ask("Global"), config)

    def _opened(self, files: Files, until_ns: int) -> dict[str, Any]:
        """The project as it is with these files; earlier ones are let go."""
        assert self._talk is not None
        assert self._layout is not None
        changes = self._layout.put(files)
        before = self._snapshot
        if before is None:
            self._talk.ask("initialize", None, until_ns)
            params: dict[str, Any] = {"openProjects": [self._place(CONFIG)]}
        else:
            params = {"fileChanges": self._told(changes)}
        answer = self._talk.ask("updateSnapshot", params, until_ns)
        if not answer["projects"]:
            raise Ended("it opened no project")
        self._snapshot = answer["snapshot"]
        if before is not None:
            self._talk.ask("release", {"snapshot": before}, until_ns)
        project: dict[str, Any] = answer["projects"][0]
        return project

    def _put_question(
        self, project: Mapping[str, Any], until_ns: int, method: str, **more: object
    ) -> Any:
        assert self._talk is not None
        params = {"snapshot": self._snapshot, "project": project["id"], **more}
        return self._talk.ask(method, params, until_ns)

    def _told(self, changes: Changes) -> dict[str, list[str]]:
        return {
            "created": [self._place(path) for path in changes.created],
            "changed": [self._place(path) for path in changes.changed],
            "deleted": [self._place(path) for path in changes.deleted],
        }

    def _place(self, path: str) -> str:
        assert self._layout is not None
        return str(self._layout.root / path)

    def _read(self, said: Mapping[str, Any]) -> Diagnostic:
        assert self._layout is not None
        root = f"{self._layout.root}/"
        path = said.get("fileName", "").removeprefix(root)
        text = self._layout.files.get(path)
        line, column = place_of(text, said["pos"]) if text is not None else (0, 0)
        return Diagnostic(
            path=path,
            line=line,
            column=column,
            code=f"TS{said['code']}",
            message=_message(said).replace(root, ""),
            severity=_SEVERITIES.get(said["category"], "error"),
        )


def _writes_declarations(options: Mapping[str, Any], *, wrong: bool) -> bool:
    """Whether a compilation comes to the errors of declarations: they are told as it writes them.

    It comes to them whatever else is `wrong`, unless that was to end it, or it keeps what it knows
    for the next time and writes nothing.
    """
    if not (options.get("declaration") or options.get("composite")):
        return False
    keeps = options.get("composite") or options.get("incremental")
    ends_before = options.get("noEmitOnError") or (options.get("noEmit") and keeps)
    return not (wrong and ends_before)


def _others(found: list[dict[str, Any]], known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Errors of the configuration come again among the global ones."""
    return [each for each in found if each not in known]


def _message(said: Mapping[str, Any], depth: int = 0) -> str:
    """With what is behind it, indented as the compiler prints it."""
    lines = ["  " * depth + said["text"]]
    lines += [_message(each, depth + 1) for each in said.get("messageChain") or ()]
    return "\n".join(lines)
