"""The budget: model calls, tokens and time, counted while the agent works; it is ended past one.

Hears each event as it is written, and reads the replies of model calls off the tape that is being
written. A turn on a WebSocket is a model call, too; its reply is read when the next one is asked.
What a reply does not say of tokens is not counted.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from rerail.clock import monotonic_ns
from rerail.errors import RerailError
from rerail.launch.child import Child
from rerail.llm.calls import ModelCall, is_turn, session_api, tells_turns
from rerail.llm.meaning import completion_in, completion_of
from rerail.llm.steps import call_in
from rerail.llm.view import Completion
from rerail.tape.plane_records import BudgetChanged, BudgetName
from rerail.tape.reader import Tape
from rerail.tape.records import Event, HttpReplyBody, HttpReplyHead, HttpRequest, WsMessage
from rerail.task.account import Account
from rerail.task.contract import Budget, seconds
from rerail.wire.coding import decode_part
from rerail.wire.http1 import Head, parse_head, request_line

_HEARD: Final = HttpRequest | HttpReplyHead | HttpReplyBody | WsMessage

_SECOND: Final = 1_000_000_000

GRACE_SECONDS: Final = 3.0
"""How long an agent has to end by itself once it has been told to."""


class Ledger:
    """What the agent uses. `hear` events, `watch` the command, `close` when it has ended.

    `spent` names the budget by which the agent was ended.
    """

    def __init__(self, budget: Budget, tape: Path) -> None:
        self._limits: dict[BudgetName, int] = {}
        if budget.turns is not None:
            self._limits["turns"] = budget.turns
        if budget.tokens is not None:
            self._limits["tokens"] = budget.tokens
        self._seconds = seconds(budget.time)
        self._began = 0
        self._tape = tape
        self._used: dict[BudgetName, int] = {"turns": 0, "tokens": 0}
        self._calls: dict[int, ModelCall] = {}
        self._heads: dict[int, Head] = {}
        self._sessions: dict[int, str] = {}
        self._unread: dict[int, list[bytes]] = {}
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._count, name="budget", daemon=True)
        self._account: Account | None = None
        self._end: Callable[[], None] = lambda: None
        self._timers: list[threading.Timer] = []
        self.spent: BudgetName | None = None

    def hear(self, event: Event) -> None:
        """Called as an event is written, from any thread: it only waits in line here."""
        if self._limits and isinstance(event, _HEARD):
            self._events.put(event)

    def watch(self, account: Account, end: Callable[[], None]) -> None:
        """The agent works from now on; `end` ends it."""
        self._account = account
        self._end = end
        self._began = monotonic_ns()
        self._thread.start()
        if self._seconds < threading.TIMEOUT_MAX:
            self._after(self._seconds, lambda: self._spend("seconds", int(self._seconds)))

    def close(self) -> None:
        """The agent has ended: put down what it has used."""
        for timer in self._timers:
            timer.cancel()
        if self._account is None:
            return
        self._events.put(None)
        self._thread.join()
        if isfinite(self._seconds) and not self._limits:
            # Times stand beside every event; this says that the only budget there is was kept.
            self._used.setdefault("seconds", (monotonic_ns() - self._began) // _SECOND)
            self._limits["seconds"] = int(self._seconds)
        for name, limit in self._limits.items():
            if self.spent != name:
                self._note(name, limit, spent=False)

    def _after(self, wait: float, then: Callable[[], None]) -> None:
        timer = threading.Timer(wait, then)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    # From here on: the thread that counts.

    def _count(self) -> None:
        while (event := self._events.get()) is not None:
            if isinstance(event, HttpRequest):
                self._asked(event)
            elif isinstance(event, HttpReplyHead):
                if event.exchange_id in self._calls:
                    self._heads[event.exchange_id] = parse_head(event.head)
            elif isinstance(event, HttpReplyBody) and event.exchange_id in self._calls:
                self._answered(event)
            elif isinstance(event, WsMessage) and event.opcode == "text":
                self._said(event)
        for exchange_id in self._sessions:
            self._read_session(exchange_id)

    def _asked(self, event: HttpRequest) -> None:
        head = parse_head(event.head)
        call = call_in(head, event.host)
        if call is None:
            return
        if request_line(head).method != b"POST":
            self._sessions[event.exchange_id] = session_api(event.host, head)
            if tells_turns(call.api):
                return  # what opens the session asks for nothing yet
        else:
            self._calls[event.exchange_id] = call
        self._turn()

    def _turn(self) -> None:
        self._used["turns"] += 1
        self._look("turns")

    def _said(self, event: WsMessage) -> None:
        api = self._sessions.get(event.exchange_id)
        if api is None:
            return
        if event.sender != "agent":
            self._unread.setdefault(event.exchange_id, []).append(event.content)
            return
        self._read_session(event.exchange_id)
        if is_turn(api, b"".join(self._contents([event.content]))):
            self._turn()

    def _read_session(self, exchange_id: int) -> None:
        """Count the tokens of what was answered on a WebSocket since the last time."""
        messages = self._unread.pop(exchange_id, [])
        if "tokens" in self._limits and messages:
            told = completion_in(self._sessions[exchange_id], self._contents(messages))
            self._tokens(told)

    def _contents(self, digests: list[bytes]) -> list[bytes]:
        with suppress(RerailError):
            assert self._account is not None
            self._account.kept()
            with Tape.open(self._tape) as tape:
                return [tape.blob(digest) for digest in digests]
        return []

    def _tokens(self, told: Completion | None) -> None:
        if told is not None:
            read, said = told.usage.input_tokens, told.usage.output_tokens
            self._used["tokens"] += (read or 0) + (said or 0)
        self._look("tokens")

    def _answered(self, event: HttpReplyBody) -> None:
        if "tokens" not in self._limits or event.body is None:
            return
        head = self._heads.get(event.exchange_id)
        kind, coding = (
            (b", ".join(head.get_all(name)).decode("latin-1") if head else "")
            for name in (b"content-type", b"content-encoding")
        )
        for content in self._contents([event.body.digest]):
            with suppress(RerailError):
                plain = decode_part(content, coding).content
                self._tokens(completion_of(self._calls[event.exchange_id].api, plain, kind))

    def _look(self, name: BudgetName) -> None:
        limit = self._limits.get(name)
        if limit is not None and self._used[name] > limit:
            self._spend(name, limit)

    def _spend(self, name: BudgetName, limit: int) -> None:
        if self.spent is None:
            self.spent = name
            self._used.setdefault(name, limit)
            self._note(name, limit, spent=True)
            self._end()

    def _note(self, name: BudgetName, limit: int, *, spent: bool) -> None:
        assert self._account is not None
        self._account.note(
            BudgetChanged, "runner", budget=name, limit=limit, used=self._used[name], spent=spent
        )


def ending(child: Child, ledger: Ledger) -> Callable[[], None]:
    """Ends a command: it is asked to, and killed after a while."""
    import signal

    def end() -> None:
        child.send_signal(signal.SIGTERM)
        ledger._after(GRACE_SECONDS, lambda: child.send_signal(signal.SIGKILL))

    return end
