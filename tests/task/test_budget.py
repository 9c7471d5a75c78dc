"""What an agent uses is counted as it is written, over HTTP and on a WebSocket."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rerail.tape.event import Event
from rerail.tape.plane_records import BudgetChanged
from rerail.tape.reader import Tape
from rerail.tape.records import HttpReplyBody, HttpReplyHead, HttpRequest, WsMessage
from rerail.task.account import Account
from rerail.task.budget import Ledger
from rerail.task.contract import Contract

HOST = {"connection_id": 1, "scheme": "https", "host": "api.example.com", "port": 443}
TURN = b'{"type": "response.create", "model": "m", "input": "mend it"}'
WARM_UP = b'{"type": "response.create", "generate": false}'
ANSWER = json.dumps(
    {
        "type": "response.completed",
        "response": {"id": "r", "usage": {"input_tokens": 30, "output_tokens": 12}},
    }
).encode()


class Agent:
    """An agent whose events a ledger hears."""

    def __init__(self, account: Account, ledger: Ledger) -> None:
        self._account = account
        self._ledger = ledger
        self._count = 0
        self.ended = threading.Event()
        ledger.watch(account, self.ended.set)

    def _hear(self, kind: type[Event], **fields: Any) -> None:
        self._ledger.hear(kind(at=0, wall=0, **fields))

    def posts(self, answer: bytes, path: str = "/v1/responses") -> None:
        self._count += 1
        number = {"exchange_id": self._count}
        head = f"POST {path} HTTP/1.1\r\nHost: api.example.com\r\n\r\n".encode()
        self._hear(HttpRequest, head=head, **number, **HOST)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        self._hear(HttpReplyHead, head=head, **number)
        self._hear(HttpReplyBody, body=self._account.document(answer), **number)

    def opens(self, path: str = "/v1/responses") -> None:
        self._count += 1
        head = f"GET {path} HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: websocket\r\n\r\n"
        self._hear(HttpRequest, head=head.encode(), exchange_id=self._count, **HOST)

    def says(self, content: bytes, sender: str = "agent", opcode: str = "text") -> None:
        about = {"exchange_id": self._count, "sender": sender, "opcode": opcode}
        digest = self._account.blob(content)
        self._hear(WsMessage, content=digest, size=len(content), **about)


@pytest.fixture
def begin(
    account: Account, contract: Callable[..., Contract]
) -> Iterator[Callable[..., tuple[Agent, Ledger]]]:
    made: list[Ledger] = []

    def begun(**budget: Any) -> tuple[Agent, Ledger]:
        ledger = Ledger(contract(budget=budget).budget, account.recorder.writer.path)
        made.append(ledger)
        return Agent(account, ledger), ledger

    yield begun
    for ledger in made:
        ledger.close()


def used(account: Account) -> dict[str, tuple[int, bool]]:
    account.kept()
    with Tape.open(account.recorder.writer.path) as tape:
        changed = [event for event in tape.events() if isinstance(event, BudgetChanged)]
    return {event.budget: (event.used, event.spent) for event in changed}


def test_turns_on_a_websocket_are_model_calls(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    agent, ledger = begin(turns=2)
    agent.opens()
    for content in (WARM_UP, TURN, b"no json", TURN):
        agent.says(content)
    agent.says(TURN, sender="origin")
    agent.says(TURN, opcode="ping")
    ledger.close()
    assert used(account) == {"turns": (2, False)}


def test_past_its_turns_on_a_websocket_it_is_ended(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    agent, ledger = begin(turns=1)
    agent.opens()
    agent.says(TURN)
    agent.says(TURN)
    assert agent.ended.wait(10)
    ledger.close()
    assert ledger.spent == "turns"
    assert used(account) == {"turns": (2, True)}


def test_tokens_on_a_websocket_are_counted_to_the_last(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    agent, ledger = begin(tokens=1000)
    agent.opens()
    for _ in range(2):
        agent.says(TURN)
        agent.says(b'{"type": "response.created"}', sender="origin")
        agent.says(ANSWER, sender="origin")
    ledger.close()
    assert used(account) == {"tokens": (84, False)}


def test_past_its_tokens_it_is_ended_at_the_next_turn(
    begin: Callable[..., tuple[Agent, Ledger]],
) -> None:
    agent, ledger = begin(tokens=40)
    agent.opens()
    agent.says(TURN)
    agent.says(ANSWER, sender="origin")
    agent.says(TURN)
    assert agent.ended.wait(10)
    assert ledger.spent == "tokens"


def test_calls_over_http_are_counted_with_them(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    agent, ledger = begin(turns=9, tokens=1000)
    answer = json.loads(ANSWER)["response"]
    agent.posts(json.dumps(answer).encode())
    agent.posts(b"{}", path="/v1/models")
    agent.opens(path="/chat")
    agent.says(TURN)
    agent.opens()
    agent.says(TURN)
    ledger.close()
    assert used(account) == {"turns": (2, False), "tokens": (42, False)}


def test_time_is_a_budget_too(begin: Callable[..., tuple[Agent, Ledger]]) -> None:
    agent, ledger = begin(time="20ms")
    assert agent.ended.wait(10)
    assert ledger.spent == "seconds"


def test_time_that_was_left_is_put_down(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    _, ledger = begin(time="1h")
    ledger.close()
    assert used(account) == {"seconds": (0, False)}


def test_a_session_that_generates_by_itself_counts_as_it_opens(
    begin: Callable[..., tuple[Agent, Ledger]], account: Account
) -> None:
    agent, ledger = begin(turns=9)
    agent.opens(path="/v1/realtime?model=m")
    ledger.close()
    assert used(account) == {"turns": (1, False)}
