"""A replay's listeners where its sandbox makes none."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.playback.session import ReplaySettings, replay
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording


def test_a_recorded_port_that_is_taken_now_is_said(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(tmp_path / "data")}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        capture = {f"reverse {port}": "https://api.example.com"}
        Recording.begin(tmp_path / "run.tape", capture=capture).writer.close()
        with Tape.open(tmp_path / "run.tape") as tape, pytest.raises(UsageProblem) as raised:
            replay(tape, ReplaySettings(environment=environment, command=["true"]))
    assert f"cannot listen on 127.0.0.1:{port}" in raised.value.what
    assert "end the program that listens there" in str(raised.value.hint)


def test_a_report_holds_no_credential_of_the_command_or_of_what_it_left_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-a1B2c3D4e5F6g7H8i9J0"
    environment = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(tmp_path / "data")}
    (tmp_path / "daemon.py").write_text(
        "import os, sys, time; print(os.getpid(), flush=True); time.sleep(60)"
    )
    (tmp_path / "start.py").write_text(
        "import subprocess, sys; words = [sys.executable, 'daemon.py', '--api-key', sys.argv[2]]\n"
        "with open('pid', 'wb') as out: subprocess.Popen(words, stdout=out)\n"
        "while not open('pid').read().strip(): pass\n"
    )
    Recording.begin(tmp_path / "run.tape").end()
    command = [sys.executable, "start.py", "--token", key]
    monkeypatch.chdir(tmp_path)
    with Tape.open(tmp_path / "run.tape") as tape:
        report = replay(tape, ReplaySettings(environment=environment, command=command))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    (note,) = [note for note in report.notes if "went on after the end" in note]
    assert "--api-key ⟦redacted:api-key:" in note
    assert report.command[-1].startswith("⟦redacted:token:")
