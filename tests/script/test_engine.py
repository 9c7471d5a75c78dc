"""What a host without the engine, or without a free worker, is told."""

import builtins
from pathlib import Path
from typing import Any

import pytest

from rerail.script import Limits, Script
from rerail.script import engine as engine_module
from rerail.script.engine import EngineBusy, EngineMissing, Session, type_errors
from rerail.script.verifying import same_state


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`without(name)`: from here on there is no such module."""
    real = builtins.__import__

    def hide(hidden: str) -> None:
        def import_(name: str, *rest: Any, **more: Any) -> Any:
            if name == hidden:
                raise ImportError(name)
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", import_)

    return hide


def test_without_the_engine_nothing_is_begun(tmp_path: Path, without: Any) -> None:
    without("pydantic_monty")
    with pytest.raises(EngineMissing) as missing:
        Script.start("1", tape=tmp_path / "run.tape")
    assert ".[script]" in missing.value.hint
    assert not (tmp_path / "run.tape").exists()


def test_without_its_program_the_mend_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "_pools", {})
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(EngineMissing, match="`monty` is not in"):
        Session.open("1", "script.py", Limits())


def test_a_program_of_that_name_elsewhere_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "monty"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MONTY_BIN", str(other))
    assert engine_module._worker() != other


def test_all_workers_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_pools", {})
    monkeypatch.setattr(engine_module, "WORKERS", 1)
    monkeypatch.setattr(engine_module, "_PATIENCE_SECONDS", 0.05)
    held = Session.open("1", "script.py", Limits())
    with pytest.raises(EngineBusy):
        Session.open("1", "script.py", Limits())
    held.close()
    for pool in engine_module._pools.values():
        pool.__exit__(None, None, None)


def test_without_what_compares_states(without: Any) -> None:
    without("cbor2")
    with pytest.raises(EngineMissing, match="cbor2"):
        same_state(b"MONTY", b"MONTY")


def test_without_the_engine_a_check_says_the_mend(without: Any) -> None:
    without("pydantic_monty")
    with pytest.raises(EngineMissing) as missing:
        type_errors("1", "agent.py", "")
    # A traceback shows it too.
    assert missing.value.__notes__ == [f"hint: {missing.value.hint}"]
