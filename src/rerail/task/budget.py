"""The budget: model calls, tokens and time, counted while the agent works; it is ended past one.

Hears each event as it is written, and reads the replies of model calls off the tape that is being
written. What a reply does not say of tokens is not counted, and said so at the end.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from rerail.errors import RerailError
from rerail.launch.child import Child
from rerail.llm.calls import ModelCall
from rerail.llm.meaning import completion_of
from rerail.llm.steps import call_in
from rerail.tape.plane_records import BudgetChanged, BudgetName
from rerail.tape.reader import Tape
from rerail.tape.records import Event, HttpReplyBody, HttpReplyHead, HttpRequest
from rerail.task.account import Account
from rerail.task.contract import Budget, seconds
from rerail.wire.coding import decode_part
from rerail.wire.http1 import Head, parse_head

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
        self._tape = tape
        self._used: dict[BudgetName, int] = {"turns": 0, "tokens": 0}
        self._calls: dict[int, ModelCall] = {}
        self._heads: dict[int, Head] = {}
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._count, name="budget", daemon=True)
        self._account: Account | None = None
        self._end: Callable[[], None] = lambda: None
        self._timers: list[threading.Timer] = []
        self.spent: BudgetName | None = None

    def hear(self, event: Event) -> None:
        """Called as an event is written, from any thread: it only waits in line here."""
        if self._limits and isinstance(event, HttpRequest | HttpReplyHead | HttpReplyBody):
            self._events.put(event)

    def watch(self, account: Account, end: Callable[[], None]) -> None:
        """The agent works from now on; `end` ends it."""
        self._account = account
        self._end = end
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

    def _asked(self, event: HttpRequest) -> None:
        call = call_in(parse_head(event.head), event.host)
        if call is None:
            return
        self._calls[event.exchange_id] = call
        self._used["turns"] += 1
        self._look("turns")

    def _answered(self, event: HttpReplyBody) -> None:
        if "tokens" not in self._limits or event.body is None:
            return
        head = self._heads.get(event.exchange_id)
        kind, coding = (
            (b", ".join(head.get_all(name)).decode("latin-1") if head else "")
            for name in (b"content-type", b"content-encoding")
        )
        with suppress(RerailError):
            assert self._account is not None
            self._account.kept()
            with Tape.open(self._tape) as tape:
                content = decode_part(tape.blob(event.body.digest), coding).content
            told = completion_of(self._calls[event.exchange_id].api, content, kind)
            if told is not None:
                read, said = told.usage.input_tokens, told.usage.output_tokens
                self._used["tokens"] += (read or 0) + (said or 0)
        self._look("tokens")

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
