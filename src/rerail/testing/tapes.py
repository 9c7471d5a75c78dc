"""Tapes made by hand, fact by fact, for tests that need one without a run. Opens no socket."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from rerail.clock import file_time_ns
from rerail.redact.apply import Redactor
from rerail.tape import records
from rerail.tape.companions import HOLDING, with_companions
from rerail.tape.records import Body, BodyEnd, Event, Framing, Side, SnapshotReason
from rerail.tape.writer import TapeWriter
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import Packer
from rerail.workspace.scan import Scanner

WALL: Final = 1_790_000_000_000_000_000
"""When every such run began: 2026-09-21 14:13:20 UTC."""

CHAT: Final = "/v1/chat/completions"
_STEP_NS: Final = 1_000_000
_PLAIN: Final = "Content-Type: text/plain\r\n"
_CHAT_HEADERS: Final = (
    "Content-Type: application/json\r\nAuthorization: Bearer sk-abcdefgh12345678\r\n"
)


@dataclass(slots=True)
class Recording:
    """A tape being made: each call puts one thing on it, a millisecond after the last.

    Headers are given as text, each with its line end; exchanges by their numbers.
    """

    path: Path
    writer: TapeWriter
    redactor: Redactor = field(default_factory=lambda: Redactor.create(key=bytes(32)))
    at: int = 0

    @classmethod
    def begin(cls, path: Path, **fields: Any) -> Self:
        """Make the tape, with its first event; `fields` are those of `RunStarted`."""
        recording = cls(path, TapeWriter.create(path))
        given = {
            "run_id": "run-1",
            "task_id": "task-1",
            "writer": "rerail test",
            "argv": ["python3", "agent.py"],
            "cwd": "/home/someone/agent",
            "capture": {"http": "proxy variables"},
        }
        recording.event(records.RunStarted, **(given | fields))
        return recording

    def event(self, kind: type[Event], **fields: Any) -> int:
        """Any event; returns its number."""
        self.at += _STEP_NS
        event = kind(**{"at": self.at, "wall": WALL + self.at, **fields})
        return self.writer.append(self.redactor.record(event))

    def body(
        self,
        exchange: int,
        side: Side,
        pieces: list[bytes],
        *,
        framing: Framing = "length",
        trailers: bytes = b"",
    ) -> Body | None:
        """A body that came in these pieces; None for none."""
        writer = self.writer.body(exchange_id=exchange, side=side)
        for piece in pieces:
            self.at += _STEP_NS
            writer.write(self.redactor.body(piece), at=self.at)
        return writer.finish(framing=framing, trailers=trailers)

    def half_body(self, exchange: int, side: Side, pieces: list[bytes]) -> None:
        """A body that has no end yet."""
        writer = self.writer.body(exchange_id=exchange, side=side)
        for piece in pieces:
            self.at += _STEP_NS
            writer.write(self.redactor.body(piece), at=self.at)
        self.writer.flush()

    def request(
        self,
        exchange: int,
        body: bytes = b"",
        *,
        method: str = "GET",
        target: str = "/",
        headers: str = "",
        scheme: str = "https",
        host: str = "api.example.com",
        port: int = 443,
    ) -> None:
        """A request, complete."""
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n"
        self.event(
            records.HttpRequest,
            component="agent",
            exchange_id=exchange,
            connection_id=exchange,
            scheme=scheme,
            host=host,
            port=port,
            head=head.encode("utf-8", "surrogateescape"),
            body=self.body(exchange, "agent", [body] if body else []),
            process_id=1,
        )

    def chat(self, exchange: int, text: str = "hello") -> None:
        """A model call that asks `text`."""
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
        self.request(
            exchange,
            body.encode(),
            method="POST",
            target=CHAT,
            headers=_CHAT_HEADERS,
            host="api.openai.com",
        )

    def reply(
        self,
        exchange: int,
        pieces: list[bytes],
        *,
        status: str = "200 OK",
        headers: str = _PLAIN,
        ended: BodyEnd = "complete",
        framing: Framing = "length",
        trailers: bytes = b"",
    ) -> None:
        """A reply, head and body."""
        self.reply_head(exchange, status=status, headers=headers)
        self.event(
            records.HttpReplyBody,
            component="origin",
            exchange_id=exchange,
            body=self.body(exchange, "origin", pieces, framing=framing, trailers=trailers),
            ended=ended,
        )

    def reply_head(self, exchange: int, *, status: str = "200 OK", headers: str = _PLAIN) -> None:
        """A reply's head alone."""
        head = f"HTTP/1.1 {status}\r\n{headers}\r\n".encode("utf-8", "surrogateescape")
        self.event(records.HttpReplyHead, component="origin", exchange_id=exchange, head=head)

    def message(self, exchange: int, sender: Side, content: bytes, opcode: str = "text") -> None:
        """A WebSocket message."""
        self.event(
            records.WsMessage,
            component=sender,
            exchange_id=exchange,
            sender=sender,
            opcode=opcode,
            content=self.writer.blob(self.redactor.body(content)),
            size=len(content),
        )

    def snapshot(self, source: Path, why: SnapshotReason, **fields: Any) -> int:
        """The files of a folder that is there, said to be the run's own."""
        packer = Packer(self.writer, self.redactor)
        tree = Scanner(source, packer.keep, LeftOut()).scan(file_time_ns()).tree
        kept = packer.tree(tree)
        assert kept is not None
        files = [entry for entry in tree if entry.kind == "file"]
        given = {"folder": "/home/someone/agent", "files": len(files)} | fields
        return self.event(
            records.WorkspaceSnapshot, tree=kept[0], tree_size=kept[1], why=why, **given
        )

    def end(self, status: int = 0, signal: int = 0) -> str:
        """The command ended: the tape is closed. Returns its id."""
        self.event(records.ProcessEnded, process_id=1, status=status, signal=signal)
        self.event(records.RunEnded, status=status, signal=signal)
        return self.writer.close()

    def leave(self, target: Path) -> Path:
        """What a recorder that is killed now would leave, as a copy at `target`."""
        self.writer.flush()
        ours, theirs = (with_companions(path, HOLDING) for path in (self.path, target))
        for source, copy in zip(ours, theirs, strict=True):
            if source.exists():
                copy.write_bytes(source.read_bytes())
        return target
