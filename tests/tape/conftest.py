"""Tapes to test with: small runs that are recorded, left by a dying recorder, or still going on."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.companions import SUFFIXES
from rerail.tape.records import (
    Event,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    RunEnded,
    RunStarted,
)
from rerail.tape.writer import TapeWriter

REPLY_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Run:
    """A run being recorded, one call an event or an exchange."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = TapeWriter.create(path)
        self.at = 0
        self.digests: list[bytes] = []
        self.add(
            RunStarted(
                at=0,
                wall=10**18,
                run_id="run-1",
                task_id="task-1841",
                writer="rerail test",
                argv=["python3", "agent.py"],
                cwd="/home/me/project",
            )
        )

    def add(self, event: Event) -> int:
        return self.writer.append(CleanRecord(event))

    def request(self, exchange_id: int) -> int:
        self.at += 5_000_000
        content = f'{{"messages": ["{"question " * 30}", {exchange_id}]}}'.encode()
        body = self.writer.body(exchange_id=exchange_id, side="agent", lane="POST api agent")
        body.write(CleanBytes(content), at=self.at)
        said = body.finish(framing="length")
        assert said is not None
        self.digests.append(said.digest)
        return self.add(
            HttpRequest(
                at=self.at,
                wall=10**18 + self.at,
                component="agent",
                exchange_id=exchange_id,
                connection_id=1,
                scheme="https",
                host="api.example.com",
                port=443,
                head=b"POST /v1/chat HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
                body=said,
            )
        )

    def reply_head(self, exchange_id: int) -> int:
        self.at += 5_000_000
        return self.add(
            HttpReplyHead(
                at=self.at,
                wall=10**18 + self.at,
                component="origin",
                exchange_id=exchange_id,
                head=REPLY_HEAD,
            )
        )

    def reply_body(self, exchange_id: int, chunks: int = 5) -> int:
        body = self.writer.body(exchange_id=exchange_id, side="origin", lane="POST api origin")
        for number in range(chunks):
            self.at += 1_000_000
            body.write(CleanBytes(b"data: answer %d.%d\n\n" % (exchange_id, number)), at=self.at)
        said = body.finish(framing="chunked")
        if said is not None:
            self.digests.append(said.digest)
        return self.add(
            HttpReplyBody(
                at=self.at,
                wall=10**18 + self.at,
                component="origin",
                exchange_id=exchange_id,
                body=said,
            )
        )

    def exchange(self, exchange_id: int) -> None:
        self.request(exchange_id)
        self.reply_head(exchange_id)
        self.reply_body(exchange_id)

    def add_end(self) -> None:
        self.add(RunEnded(at=self.at, wall=10**18 + self.at, status=0))

    def end(self) -> str:
        self.add_end()
        return self.writer.close()

    def left_behind(self, folder: Path) -> Path:
        """The files as a killed recorder would leave them: what is committed, tape and log."""
        self.writer.flush()
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("", *SUFFIXES):
            file = Path(f"{self.path}{suffix}")
            if file.exists():
                shutil.copyfile(file, folder / file.name)
        return folder / self.path.name


@pytest.fixture
def start_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """`start_run(name)` begins a run on a tape; the tape is closed after the test."""
    runs: list[Run] = []

    def start(name: str = "run.tape") -> Run:
        runs.append(Run(tmp_path / name))
        return runs[-1]

    yield start
    for run in runs:
        if run.writer.failed is None:
            run.writer.close()


@pytest.fixture
def finished(start_run: Callable[..., Run]) -> Run:
    """A finished run of three exchanges, eleven events."""
    run = start_run()
    for exchange_id in (1, 2, 3):
        run.exchange(exchange_id)
    run.end()
    return run


@pytest.fixture
def lost(start_run: Callable[..., Run], tmp_path: Path) -> Path:
    """A tape whose recorder died in the middle of the third reply: two chunks had come."""
    run = start_run("alive.tape")
    run.exchange(1)
    run.exchange(2)
    run.request(3)
    run.reply_head(3)
    body = run.writer.body(exchange_id=3, side="origin", lane="POST api origin")
    body.write(CleanBytes(b"data: first\n\n"), at=run.at + 1_000_000)
    body.write(CleanBytes(b"data: second\n\n"), at=run.at + 2_000_000)
    return run.left_behind(tmp_path / "lost")
