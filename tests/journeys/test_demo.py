"""`rerail demo` from end to end, as a person runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from rerail.testing.local_model import missing

RERAIL = Path(sys.executable).parent / "rerail"


def demo(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [RERAIL, "demo", "--folder", str(folder / "demo"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.journey
def test_the_demo_records_replays_and_sees_the_changed_prompt_diverge(tmp_path: Path) -> None:
    said = demo(tmp_path)
    assert "simulated model" in said.splitlines()[0]
    assert "messages[6].content" in said
    assert "The same run to the letter" in said
    tapes = list((tmp_path / "demo" / "runs").glob("night-*.tape"))
    assert tapes
    assert all(b"sk-demo" not in tape.read_bytes() for tape in tapes)


@pytest.mark.journey
@pytest.mark.local_model
@pytest.mark.timeout(300)
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_demo_runs_on_the_local_model_and_names_it(tmp_path: Path) -> None:
    said = demo(tmp_path, "--model", "local")
    assert "SmolLM2-135M-Instruct" in said.splitlines()[0]
    assert "simulated" not in said.splitlines()[0]
    assert "messages[6].content" in said
