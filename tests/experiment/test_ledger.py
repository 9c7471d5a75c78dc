"""What the ledger has been told outlasts a kill, and a torn line takes nothing with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.experiment.ledger import Entry, Ledger, read

from .made_up import key


def entry(task: int) -> Entry:
    return Entry(key=key(task), tape=f"runs/{task}.tape", tape_id="sha256:1")


def test_lines_are_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.add(entry(1))
        ledger.add(entry(2))
        assert ledger.entries == [entry(1), entry(2)]
    with Ledger(path) as ledger:
        assert ledger.entries == [entry(1), entry(2)]
        ledger.add(entry(3))
    assert list(read(path)) == [entry(1), entry(2), entry(3)]


def test_every_cut_of_the_last_line_loses_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.add(entry(1))
        whole = path.read_bytes()
        ledger.add(entry(2))
    both = path.read_bytes()
    for cut in range(len(whole), len(both)):
        path.write_bytes(both[:cut])
        assert list(read(path)) == [entry(1)]
        with Ledger(path) as ledger:
            ledger.add(entry(3))
        assert list(read(path)) == [entry(1), entry(3)]


def test_two_processes_do_not_run_one_experiment(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    script = (
        "import pathlib, sys; from rerail.experiment.ledger import Ledger\n"
        "Ledger(pathlib.Path(sys.argv[1]))"
    )
    with Ledger(path):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60
        )
        assert "another process runs the experiment" in done.stderr
    done = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60)
    assert done.returncode == 0


def test_what_is_no_ledger_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="there is no experiment in"):
        list(read(tmp_path / "ledger.jsonl"))
    (tmp_path / "ledger.jsonl").write_bytes(b'{"key": 1}\n')
    with pytest.raises(UsageProblem, match="line 1 is no entry"):
        list(read(tmp_path / "ledger.jsonl"))
