"""What a kept tool promises, tried on a server that ends, hangs, babbles and refuses."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from rerail.errors import ToolFailed
from rerail.tools.diagnostics import Diagnostic
from rerail.tools.kept import Files
from rerail.tools.language_server import LanguageServer

SERVER = Path(__file__).parent / "scripted_server.py"
PULL = {"diagnosticProvider": {"interFileDependencies": True}}


class Scripted(LanguageServer):
    name = "scripted"
    language = "text"
    version = "1"

    def __init__(self, script: Path, abilities: dict[str, object]) -> None:
        super().__init__()
        self._script, self._abilities = script, abilities
        self.colds = 0

    @property
    def words(self) -> Sequence[str]:
        return [sys.executable, str(SERVER), str(self._script), json.dumps(self._abilities)]

    def is_source(self, path: str) -> bool:
        return path.endswith(".txt")

    def is_configuration(self, path: str) -> bool:
        return path == "config"

    def _run_cold(self, files: Files) -> list[Diagnostic]:
        self.colds += 1
        return [Diagnostic("config", 1, 1, "bad", "bad config")] if files["config"] == "bad" else []


Make = Callable[..., Scripted]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(*orders: str, abilities: dict[str, object] | None = None) -> Scripted:
            script = tmp_path / "script"
            script.write_text("\n".join(orders))
            tool = Scripted(script, PULL if abilities is None else abilities)
            stack.callback(tool.stop)
            return tool

        yield made


def said(tool: LanguageServer, files: Files) -> list[str]:
    return [each.message for each in tool.check(files).diagnostics]


def test_contents_carry_a_version_and_the_answer_is_about_the_last(make: Make) -> None:
    tool = make()
    assert said(tool, {"a.txt": "one"}) == ["1: one"]
    assert said(tool, {"a.txt": "two"}) == ["2: two"]
    assert said(tool, {"a.txt": "two"}) == ["2: two"]
    assert said(tool, {"b.txt": "three"}) == ["1: three"]
    assert said(tool, {"b.txt": "three", "a.txt": "four"}) == ["1: four", "1: three"]


@pytest.mark.parametrize("order", ["end", "noise", "refuse", "partial", "empty"])
def test_a_program_that_fails_once_is_started_anew_and_asked_again(make: Make, order: str) -> None:
    assert said(make(order), {"a.txt": "one"}) == ["1: one"]


@pytest.mark.parametrize("order", ["end", "noise", "refuse", "partial", "empty"])
def test_one_that_fails_twice_is_an_error_and_no_empty_list(make: Make, order: str) -> None:
    tool = make(order, order)
    with pytest.raises(ToolFailed, match="ended twice"):
        tool.check({"a.txt": "one"})
    assert said(tool, {"a.txt": "one"}) == ["1: one"]


def test_its_last_words_are_told(make: Make) -> None:
    with pytest.raises(ToolFailed, match="out of memory"):
        make("end", "end").check({"a.txt": "one"})


def test_one_that_hangs_is_an_error_within_its_time(make: Make) -> None:
    tool = make("hang").start()
    patient, tool.seconds = tool.seconds, 0.5
    with pytest.raises(ToolFailed, match="did not answer textDocument/diagnostic in time"):
        tool.check({"a.txt": "one"})
    tool.seconds = patient
    assert said(tool, {"a.txt": "one"}) == ["1: one"]


@pytest.mark.parametrize("abilities", [{}, {"diagnosticProvider": None}])
def test_a_server_that_does_not_announce_pull_is_refused(
    make: Make, abilities: dict[str, object]
) -> None:
    with pytest.raises(ToolFailed, match="does not announce pull"):
        make(abilities=abilities).check({"a.txt": "one"})


def test_a_server_that_counts_otherwise_is_refused(make: Make) -> None:
    with pytest.raises(ToolFailed, match="utf-8"):
        make(abilities={**PULL, "positionEncoding": "utf-8"}).check({"a.txt": "one"})


def test_what_is_wrong_with_the_configuration_is_asked_cold_once_for_each(make: Make) -> None:
    tool = make()
    assert said(tool, {"a.txt": "one", "config": "bad"}) == ["1: one", "bad config"]
    assert said(tool, {"a.txt": "two", "config": "bad"}) == ["2: two", "bad config"]
    assert tool.colds == 1
    assert said(tool, {"a.txt": "two", "config": "good"}) == ["1: two"]
    assert tool.colds == 2


def test_a_stopped_tool_starts_again_when_it_is_asked(make: Make) -> None:
    tool = make()
    with tool:
        assert said(tool, {"a.txt": "one"}) == ["1: one"]
    assert said(tool, {"a.txt": "one"}) == ["1: one"]


def test_no_source_is_no_question(make: Make) -> None:
    assert said(make(), {"a.md": "one"}) == []
