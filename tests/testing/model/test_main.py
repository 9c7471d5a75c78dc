import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def start(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "rerail.testing.model", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("simulated model: ")
    return process, line.split()[2]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_well(tmp_path: Path, end: signal.Signals) -> None:
    process, url = start(tmp_path, "--tls", "127.0.0.1", "--seed", "3")
    with process:
        context = ssl.create_default_context(cafile=str(tmp_path / "simulated-model.pem"))
        request = urllib.request.Request(
            url + "/chat/completions", json.dumps(CHAT).encode(), {"Authorization": "Bearer k"}
        )
        with urllib.request.urlopen(request, timeout=5, context=context) as reply:
            assert json.loads(reply.read())["model"] == "simulated-1"
        process.send_signal(end)
        assert process.wait(20) == 0


def test_a_port_that_is_taken_is_said_in_a_line(free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        done = subprocess.run(
            [sys.executable, "-m", "rerail.testing.model", "--port", str(free_port)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"cannot listen on port {free_port}" in done.stderr
