"""Tapes for the tests of the command line, and the command line itself, in this process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rerail.cli.main import run as run_rerail
from rerail.tape import records
from rerail.testing.tapes import Recording


@pytest.fixture
def make_tape(tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """`make_tape(name)` begins a tape."""
    made: list[Recording] = []

    def make(name: str = "run.tape", **fields: Any) -> Recording:
        made.append(Recording.begin(tmp_path / name, **fields))
        return made[-1]

    yield make
    for recording in made:
        recording.writer.close()


@dataclass(frozen=True)
class Result:
    """What a command line did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def assert_complaint(self, status: int, what: str, hint: str = "") -> None:
        """One line that says what is wrong, one that says the mend, and nothing on stdout."""
        assert self.status == status, self
        assert self.out == ""
        first, second = self.err.splitlines()
        assert first.startswith("rerail: "), self.err
        assert second.startswith("hint: "), self.err
        assert what in first, self.err
        assert hint in second, self.err


@pytest.fixture
def rerail(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Result]:
    """`rerail("show", tape)` runs the command line in this process."""

    def run(*arguments: object) -> Result:
        capfdbinary.readouterr()
        status = run_rerail([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Result(status, out.decode("utf-8", "surrogateescape"), err.decode())

    return run


@pytest.fixture
def simple_tape(make_tape: Callable[..., Recording]) -> Path:
    """Three exchanges: a page, a streamed model call, and one without a reply."""
    tape = make_tape()
    tape.event(
        records.ProcessStarted, process_id=1, argv=["python3", "agent.py"], cwd="/home/someone"
    )
    tape.request(1, target="/page?q=1")
    tape.reply(1, [b"a page\n"])
    tape.chat(2)
    tape.reply(
        2,
        [b'data: {"n": 1}\n\n', b'data: {"n"', b": 2}\n\ndata: [DONE]\n\n"],
        headers="Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n",
        framing="chunked",
    )
    tape.request(3, method="PUT", target="/x", port=8443, body=b"\x00\x01\x02\xff" * 100)
    tape.event(records.HttpFailed, exchange_id=3, ended="reset", reason="connection reset by peer")
    tape.end()
    return tape.path
