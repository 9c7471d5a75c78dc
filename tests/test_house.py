"""Rules of the house that no linter knows."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rerail"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.stat().st_size)
LINES_ALLOWED = 600

NOT_NEEDED_TO_RECORD = (
    "rich",
    "pydantic",
    "jinja2",
    "h2",
    "wsproto",
    "importlib.metadata",
    "cryptography.x509",
)
NOT_NEEDED_TO_START = (
    "asyncio",
    "dataclasses",
    "http",
    "shutil",
    "subprocess",
    "tempfile",
    "rerail.launch.waiting",
    "rerail.proxy.channel",
)
REACHES_ORIGINS = ("rerail.proxy.upstream", "rerail.proxy.relay", "rerail.playback.live")
REPLAYING = ("rerail.cli.replay", "rerail.playback.session", "rerail.proxy.front")
STARTING = ("rerail.cli.record", "rerail.capture.session", "rerail.proxy.reach")
RECORDING = (
    "rerail.cli.record",
    "rerail.capture.session",
    "rerail.launch.waiting",
    "rerail.capture.recorder",
    "rerail.proxy.server",
    "rerail.redact.apply",
    "rerail.tape.writer",
)


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def called_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_redaction_makes_cleaned_records(path: Path) -> None:
    if path.is_relative_to(SOURCE / "redact"):
        return
    made = {"CleanRecord", "CleanBytes"} & set(called_names(ast.parse(path.read_bytes())))
    assert not made, f"{name_of(path)} makes {made}; only rerail.redact may"


def test_the_rule_above_would_be_noticed() -> None:
    tree = ast.parse("clean.CleanRecord(event)\nbody(CleanBytes(b''))")
    assert {"CleanRecord", "CleanBytes"} <= set(called_names(tree))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_begins_with_its_one_idea(path: Path) -> None:
    tree = ast.parse(path.read_bytes())
    first = (ast.get_docstring(tree) or "").partition("\n")[0]
    assert first.endswith("."), f"{name_of(path)}: its first line does not say what it is"
    assert isinstance(tree.body[0], ast.Expr)
    assert tree.body[0].lineno == 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short_enough_to_be_read(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LINES_ALLOWED


def loaded_with(*modules: str) -> set[str]:
    script = f"import sys, {', '.join(modules)}\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60
    )
    return set(done.stdout.split())


def test_recording_loads_only_what_recording_needs() -> None:
    loaded = loaded_with(*RECORDING)
    assert set(RECORDING) <= loaded
    assert not loaded & set(NOT_NEEDED_TO_RECORD)


def test_the_command_starts_before_what_serves_it_is_loaded() -> None:
    loaded = loaded_with(*STARTING)
    assert set(STARTING) <= loaded
    assert not loaded & set(NOT_NEEDED_TO_START)


def test_a_replay_loads_nothing_that_reaches_an_origin() -> None:
    loaded = loaded_with(*REPLAYING)
    assert set(REPLAYING) <= loaded
    assert not loaded & set(REACHES_ORIGINS)
