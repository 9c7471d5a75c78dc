"""The bench as a command."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_help_names_every_measurement() -> None:
    done = bench("--help")
    assert done.returncode == 0, done.stderr
    for name in ("startup", "clock", "calls", "events", "durable", "size", "tools", "large"):
        assert f"\n  {name}" in done.stdout


def test_an_unknown_measurement_is_a_usage_error() -> None:
    done = bench("speed")
    assert done.returncode == 2
    assert "no measurement is called speed" in done.stderr
