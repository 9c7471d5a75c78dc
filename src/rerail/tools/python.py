"""Python, kept and cold, through the type checker ty."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from rerail.errors import RerailError, ToolFailed
from rerail.launch.errand import Errand, run_errand
from rerail.tools.diagnostics import Diagnostic, Severity
from rerail.tools.kept import SECONDS, Files
from rerail.tools.language_server import LanguageServer
from rerail.tools.layout import Layout
from rerail.tools.places import units_before
from rerail.tools.programs import Program, last_words

_CONFIGURATIONS: Final = frozenset({"pyproject.toml", "ty.toml"})
_SEVERITIES: Final[dict[str, Severity]] = {
    "blocker": "error",
    "critical": "error",
    "major": "error",
    "minor": "warning",
}
_CANNOT_BEGIN: Final = "configuration"
_DONE: Final = (0, 1)
_FAILED: Final = 2


class Python(LanguageServer):
    """ty, kept. `virtual_environment` is where the checked code finds its packages."""

    name = "ty"
    language = "python"

    def __init__(
        self,
        program: Program,
        *,
        virtual_environment: Path | None = None,
        seconds: float = SECONDS,
    ) -> None:
        super().__init__(seconds=seconds)
        self.program = program
        self._virtual_environment = virtual_environment

    @property
    def version(self) -> str:
        return self.program.version

    @property
    def words(self) -> Sequence[str]:
        return [str(self.program.path), "server"]

    @property
    def environment(self) -> Mapping[str, str]:
        place = self._virtual_environment
        return {"VIRTUAL_ENV": str(place)} if place else {}

    def is_source(self, path: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def is_configuration(self, path: str) -> bool:
        return PurePosixPath(path).name in _CONFIGURATIONS

    def blocks(self, diagnostics: Iterable[Diagnostic]) -> bool:
        """The server goes on with an older configuration where the new one cannot be read."""
        return any(each.code == _CANNOT_BEGIN for each in diagnostics)

    def plain(self, message: str) -> str:
        return message.partition("\n\n")[0]

    def _run_cold(self, files: Files) -> list[Diagnostic]:
        with tempfile.TemporaryDirectory(prefix="rerail-cold-") as folder:
            layout = Layout(Path(folder))
            layout.put(files)
            words = [str(self.program.path), "check", "--output-format", "gitlab"]
            try:
                said = run_errand(
                    words, cwd=layout.root, environment=self.environment, seconds=self.seconds
                )
            except RerailError as error:
                raise ToolFailed(f"ty: {error.what}", hint=error.hint) from error
            return self._cold_said(said, files, layout.root)

    def _cold_said(self, said: Errand, files: Files, root: Path) -> list[Diagnostic]:
        if said.status in _DONE and not said.cut:
            found = [_read(each, files) for each in _list(said)]
            # A failure that names nothing, and errors in a success, are no reading of the files.
            wrong = any(each.severity == "error" for each in found)
            if found if said.status else not wrong:
                return found
        if said.status == _FAILED and b"ty failed" in said.errors:
            message = said.errors.decode(errors="replace").replace(f"{root}/", "").strip()
            return [Diagnostic("", 0, 0, _CANNOT_BEGIN, message)]
        how = "was not done in time" if said.timed_out else f"ended with {said.status}"
        raise ToolFailed(f"ty {how}", hint=f"its last words: {last_words(said)}")


def _list(said: Errand) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(said.output or b"[]", type=list[dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise ToolFailed(
            f"ty's report cannot be read: {error}", hint="use a version that reports in JSON"
        ) from error


def _read(said: Mapping[str, Any], files: Files) -> Diagnostic:
    path, begin = said["location"]["path"], said["location"]["positions"]["begin"]
    line, column = begin["line"], begin["column"]
    return Diagnostic(
        path=path,
        line=line,
        column=units_before(files.get(path, ""), line, column) + 1,
        code=said["check_name"],
        message=said["description"].removeprefix(f"{said['check_name']}: "),
        severity=_SEVERITIES.get(said["severity"], "note"),
    )
