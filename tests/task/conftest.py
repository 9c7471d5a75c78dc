"""What the parts of the planes work with: a tape that is being written, a contract, a proposal."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.task.account import Account
from rerail.task.contract import Contract, parse
from rerail.task.trees import Proposed, copy_folder, propose
from rerail.testing.tapes import Recording

CONTRACT = {
    "task": "TASK-1",
    "version": 1,
    "objective": "mend it",
    "agent": {"command": ["agent"]},
    "workspace": "workspace",
    "checker": {"command": ["checker"]},
    "baseline": {"name": "cases", "version": 1, "path": "cases.json"},
    "target": {"name": "live", "apply": {"command": ["apply"]}, "read": {"command": ["read"]}},
}


@pytest.fixture
def contract() -> Callable[..., Contract]:
    """`contract(approval={…})` is a contract with these parts instead."""

    def made(**parts: Any) -> Contract:
        return parse(json.dumps({**CONTRACT, **parts}).encode())

    return made


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    recording = Recording.begin(tmp_path / "account.tape")
    yield Account(Recorder(recording.writer, recording.redactor, RunClock()))
    recording.writer.close()


@pytest.fixture
def proposed(account: Account, tmp_path: Path) -> Proposed:
    """One file that is changed."""
    source, scratch = tmp_path / "source", tmp_path / "scratch"
    source.mkdir()
    scratch.mkdir()
    (source / "a.txt").write_text("one")
    base = copy_folder(source, scratch, account.recorder)
    (scratch / "a.txt").write_text("two")
    return propose(account.recorder, base, scratch)
