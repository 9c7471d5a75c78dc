"""`rerail experiment` as a person types it, on the simulated model."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.experiment.measure import measure
from rerail.tape.reader import Tape
from rerail.testing.local_model import missing

SUMS = """\
name: Sums, simulated!
model: {serve: simulated}
tasks: [sums/5, sums/6, sums/7]
seeds: 4
failures: 5
"""
Rerail = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    user = tmp_path_factory.getbasetemp() / "user"
    return {**os.environ, "XDG_DATA_HOME": str(user)}


@pytest.fixture
def rerail(tmp_path: Path, environment: dict[str, str]) -> Rerail:
    (tmp_path / "exp.yaml").write_text(SUMS)

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "rerail.cli", "experiment", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=390,
        )

    return run


def outcomes(folder: Path) -> dict[str, tuple[Any, ...]]:
    receipt = json.loads((folder / "receipt.json").read_text())
    return {
        run["tape"]: (run["outcome"], run["turns"], run["tokens"], run["errors"])
        for run in receipt["runs"]
    }


def test_from_the_file_to_the_receipt_and_back_from_the_tapes(
    rerail: Rerail, tmp_path: Path
) -> None:
    done = rerail("run", "exp.yaml")
    assert done.returncode == 0, done.stderr
    assert "rerail: Simulated model: simulated-1" in done.stderr
    assert "rerail: arms: 25 of 25: " in done.stderr
    assert "rewind+hint: " in done.stderr
    assert done.stdout == ""
    folder = tmp_path / "experiments" / "sums-simulated"
    told = rerail("report", str(folder))
    assert told.stdout == (folder / "receipt.md").read_text()
    assert told.stdout.startswith("**Simulated model: simulated-1")
    assert rerail("report", str(folder), "--form", "html").stdout.startswith("<!doctype html>")
    again = rerail("report", str(folder), "--recompute", "--json")
    assert again.returncode == 0
    assert "every number is equal" in again.stderr
    assert json.loads(again.stdout) == json.loads((folder / "receipt.json").read_text())
    receipt = folder / "receipt.json"
    receipt.write_text(receipt.read_text().replace('"kept": 5', '"kept": 6'))
    differing = rerail("report", str(folder), "--recompute", "--json")
    assert differing.returncode == 1
    assert "receipt.firsts.kept: 6, and now 5" in differing.stderr


def test_killed_in_the_middle_it_goes_on_and_comes_to_the_same(
    rerail: Rerail, tmp_path: Path, environment: dict[str, str]
) -> None:
    assert rerail("run", "exp.yaml", "-o", "whole", "-q").returncode == 0
    command = [sys.executable, "-m", "rerail.cli", "experiment", "run", "exp.yaml", "-o", "killed"]
    for lines in (3, 9, 12):
        killed = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        )
        with killed:
            assert killed.stderr is not None
            for _ in range(lines):
                killed.stderr.readline()
            killed.send_signal(signal.SIGKILL)
    over = (tmp_path / "killed" / "ledger.jsonl").read_text().splitlines()
    assert 0 < len(over) < len(outcomes(tmp_path / "whole"))
    done = rerail("run", "exp.yaml", "-o", "killed", "-q")
    assert done.returncode == 0, done.stderr
    ledger = (tmp_path / "killed" / "ledger.jsonl").read_text().splitlines()
    assert ledger[: len(over)] == over
    entries = [json.loads(line) for line in ledger]
    keys = [json.dumps(entry["key"]) for entry in entries if "aside" not in entry]
    assert len(keys) == len(set(keys))
    whole, killed_then = outcomes(tmp_path / "whole"), outcomes(tmp_path / "killed")
    counted = whole.keys() & killed_then.keys()
    assert len(counted) >= 5 * 6
    for tape in counted:
        assert killed_then[tape][:2] == whole[tape][:2], tape
        assert killed_then[tape][2]["calls"] >= whole[tape][2]["calls"]
    assert rerail("report", "killed", "--recompute").returncode == 0


def test_an_interrupt_ends_it_at_the_next_turn_and_leaves_what_can_go_on(
    rerail: Rerail, tmp_path: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "rerail.cli", "experiment", "run", "exp.yaml", "-o", "e"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for _ in range(4):
            running.stderr.readline()
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert running.returncode == 130
    assert "stopping after the turns under way" in said
    assert "the same command goes on with it" in said
    for path in (tmp_path / "e" / "runs").glob("*.tape"):
        with Tape.open(path) as tape:
            assert tape.state in ("finished", "lost")
            assert (measure(path) is not None) == (tape.state == "finished")
    assert rerail("run", "exp.yaml", "-o", "e", "-q").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nmodel: {serve: simulated}\ntasks: [sums/99]\n", "there is no task `sums/99`"),
        ("name: x\nmodel: {serve: simulated}\n", "missing required field `tasks`"),
        (
            "name: x\nmodel: {url: 'http://127.0.0.1:1/v1', name: m, key: NO_SUCH_KEY}\n"
            "tasks: [sums/1]\n",
            "NO_SUCH_KEY, which is not set",
        ),
    ],
)
def test_what_cannot_start_says_why_and_leaves_nothing(
    rerail: Rerail, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "exp.yaml").write_text(text)
    done = rerail("run", "exp.yaml")
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert not (tmp_path / "experiments").exists()


def test_where_there_is_nothing_to_report(rerail: Rerail, tmp_path: Path) -> None:
    for more in ((), ("--recompute",)):
        done = rerail("report", str(tmp_path), *more)
        assert done.returncode == 2
        assert "there is no " in done.stderr


@pytest.mark.local_model
@pytest.mark.timeout(400)
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_small_real_model_fails_and_is_rewound(rerail: Rerail, tmp_path: Path) -> None:
    (tmp_path / "exp.yaml").write_text(
        "name: real\n"
        "model: {serve: local, structured: true, sampling: {temperature: 1.2, max_tokens: 60}}\n"
        "tasks: [sums/1, sums/2, sums/3, sums/4]\n"
        "seeds: 3\nturns: 2\nfurther: 2\nfailures: 1\nparallel: 1\n"
        "arms: [rewind+hint, start-over]\n"
    )
    done = rerail("run", "exp.yaml", "-o", "real", "-q")
    assert done.returncode == 0, done.stderr
    assert "rerail: Real model: smollm2-135m-instruct" in done.stderr
    receipt = json.loads((tmp_path / "real" / "receipt.json").read_text())
    assert not receipt["simulated"]
    assert receipt["firsts"]["broken"] == 0
    assert [arm["all"]["runs"] for arm in receipt["arms"]] == [receipt["firsts"]["kept"]] * 2
    assert rerail("report", "real", "--recompute").returncode == 0
