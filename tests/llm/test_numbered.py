"""All model calls of a tape as they are named."""

import json
from pathlib import Path
from typing import Any

from rerail.llm.numbered import ModelCalls, model_calls
from rerail.redact.apply import Redactor
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape
from rerail.tape.records import HttpReplyBody, HttpReplyHead, HttpRequest, RunEnded, RunStarted
from rerail.tape.writer import TapeWriter

TITLE = {"system": "Give this conversation a title.", "messages": []}
MAIN = {
    "system": "You are an agent.",
    "tools": [{"name": "Bash", "input_schema": {}, "description": "It runs a command."}],
    "messages": [],
}
COMPLETED = b'data: {"type":"message_stop"}\n\n'


def test_a_title_beside_the_main_calls_has_no_number(tmp_path: Path) -> None:
    writer = TapeWriter.create(tmp_path / "run.tape")
    redactor = Redactor.create(key=bytes(32))

    def add(kind: Any, **fields: Any) -> None:
        writer.append(redactor.record(kind(at=0, wall=0, **fields)))

    def body(number: int, side: Any, content: bytes) -> Any:
        written = writer.body(exchange_id=number, side=side, exact=True)
        written.write(redactor.body(content), at=0)
        return written.finish(framing="length")

    add(RunStarted, run_id="r", task_id="t", writer="test", argv=["agent"], cwd="/")
    for number, asked in enumerate((TITLE, MAIN, {**MAIN, "more": 1}), start=1):
        add(HttpRequest, exchange_id=number, connection_id=1, scheme="https",
            host="api.anthropic.com", port=443, head=b"POST /v1/messages HTTP/1.1\r\n\r\n",
            body=body(number, "agent", json.dumps(asked).encode()))  # fmt: skip
        add(HttpReplyHead, exchange_id=number, head=b"HTTP/1.1 200 OK\r\n\r\n")
        add(HttpReplyBody, exchange_id=number, ended="agent_closed",
            body=body(number, "origin", COMPLETED))  # fmt: skip
    add(RunEnded, status=0)
    writer.close()
    with Tape.open(tmp_path / "run.tape") as tape:
        found = model_calls(tape, exchanges(tape))
    assert found.aside == {1: "title"}
    assert {number: attempt.step for number, attempt in found.steps.items()} == {2: 1, 3: 2}
    assert found.whole == {1, 2, 3}
    assert found.count == 3
    assert ModelCalls().count == 0
