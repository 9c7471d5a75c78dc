"""A checker that speaks the Language Server Protocol, kept, and asked by pull diagnostics.

A server that does not announce pull is refused: its empty answers would mean "not asked". What a
pull does not know, errors of the configuration, is asked cold, once for each configuration.
"""

import os
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rerail.errors import ToolFailed
from rerail.tools.diagnostics import Diagnostic, Severity
from rerail.tools.kept import SECONDS, Ended, Files, KeptTool
from rerail.tools.layout import Changes, Layout
from rerail.tools.talk import Refused, Talk

_SEVERITIES: Final[dict[int, Severity]] = {1: "error", 2: "warning", 3: "note"}
_FOR_AN_EDITOR: Final = 4
"""A hint: names that fade, code that nobody reaches. No verdict has them."""

_CREATED, _CHANGED, _DELETED = 1, 2, 3
_ABILITIES: Final = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"diagnostic": {"relatedDocumentSupport": False}},
    "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}},
}


class LanguageServer(KeptTool):
    """A kept server over one private folder; contents go to it by version."""

    language: str

    def __init__(self, *, seconds: float = SECONDS) -> None:
        super().__init__(seconds=seconds)
        self._open = ExitStack()
        self._talk: Talk | None = None
        self._layout: Layout | None = None
        self._ready = False
        self._versions: dict[str, int] = {}
        self._configuration: dict[str, str] | None = None
        self._about_configuration: list[Diagnostic] = []

    # What a language adds.

    @property
    @abstractmethod
    def words(self) -> Sequence[str]:
        """The command of the server."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server finds in its environment."""
        return {}

    @abstractmethod
    def is_source(self, path: str) -> bool:
        """Whether a file is to be asked about."""

    @abstractmethod
    def is_configuration(self, path: str) -> bool:
        """Whether a file says how to check: when one changes, the server begins anew."""

    def blocks(self, diagnostics: Iterable[Diagnostic]) -> bool:
        """Whether these errors of the configuration keep the checker from checking at all."""
        return False

    def plain(self, message: str) -> str:
        """What a message says in both ways: without what only a server adds."""
        return message

    # How it is asked.

    def _begin(self) -> None:
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="rerail-kept-"))
        self._layout = Layout(Path(folder))
        root = self._layout.root
        self._talk = Talk(self.name, self.words, cwd=root, environment=self.environment)
        self._open.callback(self._talk.close)
        self._ready, self._versions = False, {}

    def _end(self) -> None:
        self._open.close()
        self._talk = self._layout = None

    def _ask(self, files: Files, until_ns: int) -> list[Diagnostic]:
        self._follow_configuration(files)
        if self.blocks(self._about_configuration):
            return list(self._about_configuration)
        try:
            assert self._layout is not None
            changes = self._layout.put(files)
            if not self._ready:
                self._initialize(until_ns)
            self._tell(changes, files)
            found = [each for path in self._versions for each in self._pulled(path, until_ns)]
        except Refused as refused:
            raise Ended(str(refused)) from refused
        return [*self._about_configuration, *found]

    def _follow_configuration(self, files: Files) -> None:
        present = {path: text for path, text in files.items() if self.is_configuration(path)}
        if present == self._configuration:
            return
        if self._ready:
            self._end()
            self._begin()
        cold = self._run_cold(files) if present else []
        self._about_configuration = [each for each in cold if not self.is_source(each.path)]
        self._configuration = present

    def _initialize(self, until_ns: int) -> None:
        assert self._talk is not None
        assert self._layout is not None
        root = self._layout.root.as_uri()
        params = {
            "processId": os.getpid(),
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "project"}],
            "capabilities": _ABILITIES,
        }
        abilities = self._talk.ask("initialize", params, until_ns)["capabilities"]
        if not abilities.get("diagnosticProvider"):
            raise ToolFailed(
                f"the {self.name} server does not announce pull diagnostics",
                hint="its silence would look like success: use a server that announces them",
            )
        if abilities.get("positionEncoding", "utf-16") != "utf-16":
            raise ToolFailed(
                f"the {self.name} server counts columns in {abilities['positionEncoding']}",
                hint="use a server that can count in utf-16",
            )
        self._talk.tell("initialized", {})
        self._ready = True

    def _tell(self, changes: Changes, files: Files) -> None:
        """Every file on disk, every source as a document with a version of its own."""
        assert self._talk is not None
        for path in filter(self.is_source, changes.deleted):
            del self._versions[path]
            self._talk.tell("textDocument/didClose", {"textDocument": {"uri": self._uri(path)}})
        kinds = ((_CREATED, changes.created), (_CHANGED, changes.changed))
        events = [
            {"uri": self._uri(path), "type": kind}
            for kind, paths in (*kinds, (_DELETED, changes.deleted))
            for path in paths
        ]
        if events:
            self._talk.tell("workspace/didChangeWatchedFiles", {"changes": events})
        for path in filter(self.is_source, (*changes.created, *changes.changed)):
            self._tell_contents(path, files[path])

    def _tell_contents(self, path: str, text: str) -> None:
        assert self._talk is not None
        version = self._versions.get(path, 0) + 1
        self._versions[path] = version
        text = text.encode("utf-8", "replace").decode()
        document: dict[str, object] = {"uri": self._uri(path), "version": version}
        if version == 1:
            document |= {"languageId": self.language, "text": text}
            self._talk.tell("textDocument/didOpen", {"textDocument": document})
        else:
            changes = [{"text": text}]
            params = {"textDocument": document, "contentChanges": changes}
            self._talk.tell("textDocument/didChange", params)

    def _pulled(self, path: str, until_ns: int) -> list[Diagnostic]:
        assert self._talk is not None
        params = {"textDocument": {"uri": self._uri(path)}}
        report = self._talk.ask("textDocument/diagnostic", params, until_ns)
        if not isinstance(report, dict) or report.get("kind") != "full":
            raise Ended(f"it gave no full report of {path}")
        said = [each for each in report["items"] if each.get("severity") != _FOR_AN_EDITOR]
        return [self._read(path, each) for each in said]

    def _read(self, path: str, said: Mapping[str, Any]) -> Diagnostic:
        begin = said["range"]["start"]
        return Diagnostic(
            path=path,
            line=begin["line"] + 1,
            column=begin["character"] + 1,
            code=str(said.get("code", "")),
            message=self.plain(said["message"]),
            severity=_SEVERITIES.get(said.get("severity", 1), "error"),
        )

    def _uri(self, path: str) -> str:
        assert self._layout is not None
        return f"{self._layout.root.as_uri()}/{quote(path)}"
