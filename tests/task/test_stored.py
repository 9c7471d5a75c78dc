"""A run read again: its verdict counts only where it follows from the recorded checks."""

from pathlib import Path
from stat import S_IFDIR, S_IFLNK
from typing import Any

import pytest

from rerail.errors import NotOnTape
from rerail.tape import plane_records as planes
from rerail.tape.reader import Tape
from rerail.tape.trees import Entry, encode_tree
from rerail.task.stored import Stored, made_on, read_run
from rerail.testing.tapes import Recording

CONTRACT = (
    b"task: T\nversion: 1\nobjective: o\nagent: {command: [a]}\nworkspace: w\n"
    b"checker: {command: [c]}\nbaseline: {name: b, version: 12, path: p}\n"
)
REF = bytes(32)


def keep_tree(tape: Recording, **links: bytes) -> bytes:
    made = (Entry(name.encode(), "link", S_IFLNK, content=to) for name, to in links.items())
    content = encode_tree((Entry(b"", "folder", S_IFDIR), *made))
    return tape.writer.blob(tape.redactor.body(content))


def stored(
    path: Path,
    *,
    outcome: str = "passed",
    verdict: str = "PASS",
    links: dict[str, bytes] | None = None,
    **more: Any,
) -> Stored:
    tape = Recording.begin(path)
    contract = tape.body(0, "agent", [CONTRACT])
    tape.event(planes.TaskAccepted, task_id="T", version="1", contract=contract)
    sizes = dict.fromkeys(("size", "base_size", "tree_size"), 1)
    trees = {
        name: keep_tree(tape, **links) for name, links in (("base", {}), ("tree", links or {}))
    }
    made = {"proposal_ref": REF, "changed": 1} | trees | sizes
    tape.event(planes.ProposalMade, **made)
    tape.event(planes.CheckStarted, check_id=1, proposal_ref=REF, read_ref=REF, argv=["c"])
    tape.event(planes.CheckEnded, check_id=1, status=0)
    tape.event(planes.CheckResult, check_id=1, name="a", outcome=outcome)
    tape.event(planes.VerdictEmitted, verdict=verdict, rule="r", **({"proposal_ref": REF} | more))
    tape.end()
    with Tape.open(path) as opened:
        return read_run(opened)


def test_a_pass_that_follows_is_one(tmp_path: Path) -> None:
    found = stored(tmp_path / "a.tape")
    assert found.passed
    assert found.contract.task == "T"
    assert made_on(found).proposal_ref == REF


@pytest.mark.parametrize(
    "told",
    [
        {"verdict": "STOP"},
        {"outcome": "failed"},
        {"proposal_ref": b"\x01" * 32},
        {"links": {"a": b"/etc/passwd"}},
    ],
)
def test_one_that_does_not_is_none(told: dict[str, Any], tmp_path: Path) -> None:
    assert not stored(tmp_path / "a.tape", **told).passed


def test_a_tape_without_a_contract_is_no_such_run(tmp_path: Path) -> None:
    tape = Recording.begin(tmp_path / "a.tape")
    tape.end()
    with Tape.open(tape.path) as opened, pytest.raises(NotOnTape, match="there is no contract"):
        read_run(opened)
