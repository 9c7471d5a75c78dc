"""A replay's listeners where its sandbox makes none."""

import os
import socket
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
