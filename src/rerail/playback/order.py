"""Replies to model calls that were under way side by side come in the order in which they came.

What a process reads of clock and random numbers between two of them is known by how many calls it
had made, and by who asked first. Given what happens; knows no socket.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from rerail.playback.ledger import Ledger
from rerail.playback.script import RecordedExchange, Script

PATIENCE_SECONDS: Final = 2.0
"""How long a reply waits for something that came before it in the recording."""

APART_SECONDS: Final = 0.002
"""How long what comes next waits at most, where it came that much later: so long a process has for
what follows from the first."""

LARGEST: Final = 32
"""Calls of a group at most. Where more go on beside each other without a pause, who waits for whom
would cost more than the order is worth: they come as they are asked for."""

SIDE_BY_SIDE: Final = (
    "refused request was recorded side by side with others of its process: what they read of "
    "clock and random numbers may have changed places"
)

What = Literal["request", "head", "end"]


_ANSWERS: Final[tuple[What, ...]] = ("head", "end")


class Moment(NamedTuple):
    """Something that happened to a recorded exchange, and when (ns since the run began)."""

    at: int
    exchange: int
    what: What


class Order:
    """The order of one replay's replies; calls that nothing was beside are not in it."""

    def __init__(self, script: Script, ledger: Ledger) -> None:
        groups = list(_beside(script.exchanges.values()))
        self._beside = _moments_of(group for group in groups if len(group) <= LARGEST)
        self._aside = {call[0].exchange for group in groups for call in group}
        self._ledger = ledger
        self._at = {one[1:]: one.at for moments in self._beside.values() for one in moments}
        self._happened: set[tuple[int, What]] = set()
        self._waiting: dict[int, tuple[int, Callable[[], None]]] = {}
        self._over = False

    def happened(self, exchange: int, *what: What) -> None:
        """This has come about in the replay, or will not any more."""
        if exchange not in self._beside:
            return
        self._happened.update((exchange, one) for one in what)
        came = max(self._at.get((exchange, one), 0) for one in what)
        loop = asyncio.get_running_loop()
        for waiting, (at, _) in self._waiting.items():
            later = max(at - came, 0) / 1e9
            loop.call_later(min(later, APART_SECONDS), self._let_go, waiting)

    def holds(self, exchange: int, at: int, then: Callable[[], None]) -> bool:
        """Whether something that came before `at` is still to come; `then` asks again."""
        if exchange not in self._beside or self._over or not self._missing(exchange, at):
            return False
        if exchange not in self._waiting:
            loop = asyncio.get_running_loop()
            loop.call_later(PATIENCE_SECONDS, self._give_up, exchange, at)
        self._waiting[exchange] = at, then
        return True

    def missed(self, exchange: int) -> None:
        """A request that is most like this one is not on the tape."""
        if exchange in self._aside:
            self._ledger.notes[SIDE_BY_SIDE] += 1

    def went_live(self) -> None:
        """From here on it is another run."""
        self._over = True
        for waiting in list(self._waiting):
            self._let_go(waiting)

    def _missing(self, exchange: int, at: int) -> list[Moment]:
        moments = self._beside[exchange]
        while moments and moments[0][1:] in self._happened:
            moments.popleft()
        before = takewhile(lambda one: one.at < at, moments)
        return [one for one in before if one.exchange != exchange and one[1:] not in self._happened]

    def _let_go(self, exchange: int) -> None:
        waiting = self._waiting.pop(exchange, None)
        if waiting is not None:
            waiting[1]()

    def _give_up(self, exchange: int, at: int) -> None:
        missing = self._missing(exchange, at)
        if exchange not in self._waiting or not missing:
            return
        text = "replies were given in another order than the recorded one: something did not come"
        self._ledger.notes[text] += 1
        self._happened.update(one[1:] for one in missing)
        never = [one.exchange for one in missing if one.what == "request"]
        self._happened.update((other, what) for other in never for what in _ANSWERS)
        self._let_go(exchange)


def _beside(items: Iterable[RecordedExchange]) -> Iterator[list[list[Moment]]]:
    """The model calls of each process that others of it were beside, in groups."""
    by_process: defaultdict[int, list[list[Moment]]] = defaultdict(list)
    for item in items:
        asked = item.exchange.request
        if asked is not None and (item.step or item.lane) and not item.exchange.websocket:
            by_process[asked.process_id].append(_moments(item))
    for calls in by_process.values():
        yield from _groups(sorted(calls))


def _moments_of(groups: Iterable[list[list[Moment]]]) -> dict[int, deque[Moment]]:
    """For each call of a group, what happened to all of it."""
    found: dict[int, deque[Moment]] = {}
    for group in groups:
        moments = deque(sorted(one for call in group for one in call))
        found |= {call[0].exchange: moments for call in group}
    return found


def _groups(calls: Iterable[list[Moment]]) -> Iterator[list[list[Moment]]]:
    """Calls in the order of their requests, in groups of which each began before others ended."""
    group: list[list[Moment]] = []
    ended = 0
    for call in calls:
        if group and call[0].at >= ended:
            if len(group) > 1:
                yield group
            group = []
        group.append(call)
        ended = max(ended, call[-1].at)
    if len(group) > 1:
        yield group


def _moments(item: RecordedExchange) -> list[Moment]:
    exchange = item.exchange
    end = exchange.reply_body or exchange.failed
    events = (("request", exchange.request), ("head", exchange.reply), ("end", end))
    return [
        Moment(event.at, exchange.exchange_id, what)  # type: ignore[arg-type]  # as above
        for what, event in events
        if event is not None
    ]
