"""The traffic of a made-up agent: the same bytes at every call. For measuring, and for tests.

Fifty turns of one conversation as a chat API sees them: eight tools in every request, a history
that grows by about 2 kB a turn, streamed replies of thirty server-sent events, heads with the dates
and random identifiers that real services send. The text is of made-up words, as common as those of
English.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, TypedDict

import zstandard

from rerail.redact.apply import Redactor
from rerail.tape.records import (
    Body,
    Event,
    Framing,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    ProcessEnded,
    ProcessStarted,
    RunEnded,
    RunStarted,
    Side,
)
from rerail.tape.writer import TapeWriter

_START_NS: Final = 1_790_000_000_000_000_000
_SYLLABLES: Final = """
    the re in con ti er an al es or ing de en ate st le men per com pro ter ver is ar on ly
    ment tion ex un able dis out over mis ted ness ful less ple ger dle ket
"""
_HOST: Final = "api.openai.com"


class _Times(TypedDict):
    at: int
    wall: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: heads, the request's body, and the reply's chunks as (bytes, at in ns)."""

    at: int
    wall: int
    request_head: bytes
    request_body: bytes
    reply_head: bytes
    reply: tuple[tuple[bytes, int], ...]


def turns(count: int = 50, *, growth: int = 2000, seed: int = 1841) -> Iterator[Turn]:
    """`count` turns of a conversation that grows by about `growth` bytes each."""
    agent = _Agent(Random(seed))  # noqa: S311 - reproducible, not secret
    for number in range(count):
        yield agent.turn(number, growth)


class _Agent:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._words = _vocabulary(random)
        self._weights = [1 / (rank + 3) for rank in range(len(self._words))]
        self._tools = [self._tool(number) for number in range(8)]
        self._messages: list[dict[str, Any]] = [
            {"role": "system", "content": self._text(1500)},
            {"role": "user", "content": self._text(400)},
        ]
        self._at = 40_000_000

    def turn(self, number: int, growth: int) -> Turn:
        random = self._random
        body = json.dumps(
            {
                "model": "gpt-4o",
                "messages": self._messages,
                "tools": self._tools,
                "stream": True,
                "temperature": 0.2,
            }
        ).encode()
        sent_at = self._at
        self._at += random.randrange(300_000_000, 900_000_000)
        reply_head = self._reply_head(number)
        said, reply = self._reply(number)
        self._remember(number, said, growth)
        self._at += random.randrange(50_000_000, 400_000_000)
        wall = _START_NS + sent_at
        return Turn(sent_at, wall, self._request_head(len(body)), body, reply_head, reply)

    def _reply(self, number: int) -> tuple[str, tuple[tuple[bytes, int], ...]]:
        random = self._random
        base = {
            "id": f"chatcmpl-{random.randbytes(14).hex()}",
            "object": "chat.completion.chunk",
            "created": (_START_NS + self._at) // 1_000_000_000,
            "model": "gpt-4o-2024-08-06",
            "service_tier": "default",
            "system_fingerprint": "fp_44added55e",
        }
        pieces = [f"{word} " for word in self._text(400).split()[:28]]
        deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in pieces] + [{}]
        chunks = []
        for delta in deltas:
            self._at += random.randrange(8_000_000, 45_000_000)
            choice = {
                "index": 0,
                "delta": delta,
                "logprobs": None,
                "finish_reason": None if delta else "tool_calls",
            }
            line = json.dumps({**base, "choices": [choice]}, separators=(",", ":"))
            chunks.append((f"data: {line}\n\n".encode(), self._at))
        self._at += random.randrange(20_000, 90_000)
        chunks.append((b"data: [DONE]\n\n", self._at))
        return "".join(pieces), tuple(chunks)

    def _remember(self, number: int, said: str, growth: int) -> None:
        call = {
            "id": f"call_{self._random.randbytes(12).hex()}",
            "type": "function",
            "function": {
                "name": self._tools[number % 8]["function"]["name"],
                "arguments": json.dumps({"path": f"src/{self._text(24).replace(' ', '_')}.ts"}),
            },
        }
        self._messages += [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": self._text(growth - 500)},
        ]

    def _request_head(self, size: int) -> bytes:
        lines = [
            "POST /v1/chat/completions HTTP/1.1",
            f"Host: {_HOST}",
            "Accept-Encoding: gzip, deflate",
            "Connection: keep-alive",
            "Accept: application/json",
            "Content-Type: application/json",
            "User-Agent: OpenAI/Python 1.60.0",
            "X-Stainless-Lang: python",
            "X-Stainless-Package-Version: 1.60.0",
            "X-Stainless-OS: Linux",
            "X-Stainless-Arch: x64",
            "X-Stainless-Runtime: CPython",
            "X-Stainless-Runtime-Version: 3.11.7",
            "Authorization: Bearer ⟦redacted:authorization:5f0c2ab9d1e4⟧",
            "X-Stainless-Async: false",
            "x-stainless-retry-count: 0",
            "x-stainless-read-timeout: 600",
            f"Content-Length: {size}",
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def _reply_head(self, number: int) -> bytes:
        random = self._random
        second = (_START_NS + self._at) // 1_000_000_000 % 86400
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        lines = [
            "HTTP/1.1 200 OK",
            f"Date: Mon, 21 Sep 2026 {clock} GMT",
            "Content-Type: text/event-stream; charset=utf-8",
            "Transfer-Encoding: chunked",
            "Connection: keep-alive",
            "access-control-expose-headers: X-Request-ID",
            "openai-organization: made-up",
            f"openai-processing-ms: {random.randrange(200, 900)}",
            "openai-version: 2020-10-01",
            "x-ratelimit-limit-requests: 10000",
            "x-ratelimit-limit-tokens: 2000000",
            f"x-ratelimit-remaining-requests: {9999 - number}",
            f"x-ratelimit-remaining-tokens: {random.randrange(1_900_000, 2_000_000)}",
            f"x-ratelimit-reset-tokens: {random.randrange(1, 900)}ms",
            f"x-request-id: req_{random.randbytes(16).hex()}",
            "strict-transport-security: max-age=31536000; includeSubDomains; preload",
            "cf-cache-status: DYNAMIC",
            f"Set-Cookie: ⟦redacted:set-cookie:{random.randbytes(6).hex()}⟧",
            "X-Content-Type-Options: nosniff",
            "Server: cloudflare",
            f"CF-RAY: {random.randbytes(8).hex()}-FRA",
            'alt-svc: h3=":443"; ma=86400',
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def _tool(self, number: int) -> dict[str, Any]:
        names = self._random.sample(self._words, 4)
        properties = {name: {"type": "string", "description": self._text(120)} for name in names}
        parameters = {"type": "object", "properties": properties, "required": names[:2]}
        function = {
            "name": f"{names[0]}_{names[1]}_{number}",
            "description": self._text(300),
            "parameters": parameters,
        }
        return {"type": "function", "function": function}

    def _text(self, size: int) -> str:
        """Sentences of about `size` characters."""
        words: list[str] = []
        length = 0
        while length < size:
            sentence = self._random.choices(self._words, self._weights, k=12)
            sentence[0] = sentence[0].capitalize()
            sentence[-1] += "."
            words += sentence
            length += sum(map(len, sentence)) + len(sentence)
        return " ".join(words)[:size]


def _vocabulary(random: Random) -> list[str]:
    """Made-up words, short ones first: the common ones of a language are short."""
    syllables = _SYLLABLES.split()
    words = {"".join(random.choices(syllables, k=random.choice((1, 2, 2, 3)))) for _ in range(9000)}
    return sorted(words, key=lambda word: (len(word) // 3, word))[:4000]


def limit(conversation: Sequence[Turn]) -> int:
    """Bytes that `zstd -19` makes of the last request and all replies: what has to be kept."""
    replies = b"".join(chunk for turn in conversation for chunk, _ in turn.reply)
    compressor = zstandard.ZstdCompressor(level=19)
    return len(compressor.compress(conversation[-1].request_body + replies))


def record_made_up_agent(conversation: Iterable[Turn], path: Path) -> int:
    """Record the conversation as the proxy would; returns the size of the closed tape in bytes."""
    recording = _Recording(TapeWriter.create(path))
    recording.begin()
    for number, turn in enumerate(conversation, 1):
        recording.exchange(number, turn)
    recording.end()
    return path.stat().st_size


class _Recording:
    """Writes turns to a tape. The wall clock drifts a little against the run's, as clocks do."""

    def __init__(self, writer: TapeWriter) -> None:
        self._writer = writer
        self._redactor = Redactor.create(key=bytes(32))
        self._drift = 0
        self._at = 0

    def begin(self) -> None:
        self._add(
            RunStarted(
                **self._times(0),
                run_id="run-6f1d2c3b4a59",
                task_id="task-1841",
                writer="rerail",
                argv=["python3", "agent.py", "--task", "1841"],
                cwd="/home/me/project",
                capture={"http": "proxy variables", "tls": "intercepted"},
            )
        )
        self._add(
            ProcessStarted(
                **self._times(1_000_000),
                component="agent",
                process_id=1,
                argv=["python3", "agent.py", "--task", "1841"],
                cwd="/home/me/project",
                pid=4711,
            )
        )

    def exchange(self, number: int, turn: Turn) -> None:
        lane = f"POST {_HOST}/v1/chat/completions"
        body = self._body(number, "agent", lane, [(turn.request_body, turn.at)], "length")
        request = HttpRequest(
            **self._times(turn.at),
            component="agent",
            exchange_id=number,
            connection_id=1,
            scheme="https",
            host=_HOST,
            port=443,
            head=turn.request_head,
            body=body,
            process_id=1,
        )
        self._add(request)
        first, last = turn.reply[0][1] - 2_000_000, turn.reply[-1][1]
        times = self._times(first)
        head = turn.reply_head
        self._add(HttpReplyHead(**times, component="origin", exchange_id=number, head=head))
        body = self._body(number, "origin", lane, turn.reply, "chunked")
        times = self._times(last)
        self._add(HttpReplyBody(**times, component="origin", exchange_id=number, body=body))

    def end(self) -> None:
        self._add(ProcessEnded(**self._times(self._at), component="agent", process_id=1, status=0))
        self._add(RunEnded(**self._times(self._at), status=0))
        self._writer.close()

    def _times(self, at: int) -> _Times:
        self._drift = (self._drift * 31 + at) % 100_003
        self._at = at + self._drift
        return {"at": self._at, "wall": _START_NS + self._at + self._drift // 7}

    def _add(self, event: Event) -> None:
        self._writer.append(self._redactor.record(event))

    def _body(
        self,
        number: int,
        side: Side,
        lane: str,
        chunks: Iterable[tuple[bytes, int]],
        framing: Framing,
    ) -> Body | None:
        writer = self._writer.body(exchange_id=number, side=side, lane=f"{lane} {side}")
        for data, at in chunks:
            writer.write(self._redactor.body(data), at=at)
        return writer.finish(framing=framing)
