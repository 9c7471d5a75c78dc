"""What one pass over a case's records leaves to reason about: the few that decide, in order.

Of a million records of traffic only what they count for is kept. Facts alone: what follows from
them is worked out elsewhere.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from rerail.trace.finding import Evidence
from rerail.trace.record import CaseSource, Record
from rerail.trace.story import Gap
from rerail.trace.timeline import Competing, Order, timeline

DECIDING: Final = (
    "run.", "task.", "observation.", "baseline.", "scratch.", "agent.", "budget.", "proposal.",
    "check.", "verdict.", "approval.", "action.", "target.", "cleanup.", "hold.", "retry.",
)  # fmt: skip
_ANSWERS: Final = frozenset(("http.reply.head", "http.reply.body", "http.failed"))
_ENDING: Final = frozenset(("http.reply.body", "http.failed", "ws.closed"))
_KEPT_OF_EACH: Final = 20

WriteOutcome = Literal["answered", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Write:
    """A request that may have changed something outside: no model call, and no mere reading."""

    record: Record
    outcome: WriteOutcome


@dataclass(frozen=True, slots=True)
class Loose:
    """A record that answers something that no record asked, or that was over."""

    record: Record
    why: str


@dataclass(frozen=True, slots=True)
class Lacking:
    """A part of an exchange that is not on record: `what`, and what it `would_show`.

    `record` is one of the same exchange that is.
    """

    record: Record
    what: str
    would_show: str
    is_request: bool = False


@dataclass(slots=True)
class Gathered:
    """The records that decide, in the merged order, and counts of all others."""

    names: tuple[str, ...] = ()
    run_id: str = ""
    tapes: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    deciding: list[Record] = field(default_factory=list)
    writes: dict[WriteOutcome, list[Write]] = field(default_factory=lambda: defaultdict(list))
    written: Counter[str] = field(default_factory=Counter)
    uncaptured: list[Record] = field(default_factory=list)
    loose: list[Loose] = field(default_factory=list)
    lacking: list[Lacking] = field(default_factory=list)
    replies: int = 0
    first_reply: Record | None = None
    gaps: list[tuple[str, Gap]] = field(default_factory=list)
    competing: list[Competing] = field(default_factory=list)
    contradictions: list[Record] = field(default_factory=list)
    _places: dict[str, tuple[list[int], list[int]]] = field(
        default_factory=lambda: defaultdict(lambda: ([], []))
    )

    def of(self, *kinds: str) -> list[Record]:
        """The records of these kinds, in order."""
        return [record for record in self.deciding if record.kind in kinds]

    def first(self, kind: str) -> Record | None:
        """The first of a kind."""
        return next((record for record in self.deciding if record.kind == kind), None)

    def last(self, kind: str) -> Record | None:
        """The last of a kind."""
        return next((record for record in reversed(self.deciding) if record.kind == kind), None)

    def count(self, kind: str) -> int:
        """How many records of a kind there are in all sources."""
        return sum(kinds[kind] for kinds in self.kinds.values())

    def place(self, source: str, order: int) -> tuple[int, int]:
        """Where a record of a source stands among those that decide, for sorting."""
        orders, places = self._places[source]
        at = bisect_right(orders, order)
        return (places[at - 1] if at else -1, order)

    def is_whole(self) -> bool:
        """Whether no record of any tape of the case can be missing between its start and end."""
        return bool(self.tapes) and self.tapes <= self.whole


def at(record: Record) -> Evidence:
    """A record as evidence."""
    return Evidence(record.source, record.ref, record.says)


def gather(sources: Sequence[CaseSource], order: Order | None = None) -> Gathered:
    """Read all records once. Raises TapeAltered where one cannot be read."""
    found = Gathered(
        names=tuple(source.name for source in sources),
        tapes=frozenset(source.name for source in sources if source.recorded),
        whole=frozenset(source.name for source in sources if source.whole),
    )
    traffic = _Traffic(found)
    for line in timeline(sources, order=order, worded=False):
        record = line.record
        found.kinds[record.source][record.kind] += 1
        found.run_id = found.run_id or record.id("run")
        found.competing += line.competing
        if line.by == "contradiction":
            found.contradictions.append(record)
        if record.kind.startswith(DECIDING) or _is_the_commands_end(record):
            _keep(found, record)
        elif record.kind == "capture.missing":
            found.uncaptured.append(record)
        elif "exchange" in record.fields:
            traffic.take(record)
    traffic.end()
    found.gaps = [(source.name, gap) for source in sources for gap in source.gaps]
    return found


def worded(found: Gathered, sources: Iterable[CaseSource]) -> Gathered:
    """The same with words: they are made for the records that are kept alone."""
    by_name = {source.name: source for source in sources}

    def said(record: Record) -> Record:
        return by_name[record.source].worded(record)

    found.deciding = [said(record) for record in found.deciding]
    found.uncaptured = [said(record) for record in found.uncaptured]
    found.first_reply = found.first_reply and said(found.first_reply)
    found.contradictions = [said(record) for record in found.contradictions]
    found.loose = [Loose(said(item.record), item.why) for item in found.loose]
    found.lacking = [replace(item, record=said(item.record)) for item in found.lacking]
    found.competing = [
        Competing(said(item.one), said(item.other), item.tells_apart) for item in found.competing
    ]
    for outcome, writes in found.writes.items():
        found.writes[outcome] = [Write(said(item.record), outcome) for item in writes]
    return found


def _is_the_commands_end(record: Record) -> bool:
    """Process 1 is the agent's own command; how its children end decides nothing."""
    return record.kind == "process.ended" and record.fields.get("process_id") == 1


def _keep(found: Gathered, record: Record) -> None:
    orders, places = found._places[record.source]
    orders.append(record.order)
    places.append(len(found.deciding))
    found.deciding.append(record)


@dataclass(slots=True)
class _Exchange:
    """One that is under way: its request, whether that may have written, what has come of it."""

    request: Record
    writes: bool
    headed: bool = False


class _Traffic:
    """Requests and what answers them, as they go by; of those that are over only the number."""

    def __init__(self, found: Gathered) -> None:
        self._found = found
        self._open: dict[tuple[str, int], _Exchange] = {}
        self._asked: defaultdict[str, set[int]] = defaultdict(set)
        self._unasked: dict[tuple[str, int], Record] = {}

    def take(self, record: Record) -> None:
        number = int(record.fields["exchange"])
        exchange = (record.source, number)
        if record.kind == "http.request":
            self._request(record, exchange)
        elif number not in self._asked[record.source]:
            self._unasked.setdefault(exchange, record)
        elif exchange in self._open:
            self._answer(exchange, record)
        elif record.kind in _ANSWERS:
            self._loose(record, "its exchange was over")

    def end(self) -> None:
        for (_, number), record in self._unasked.items():
            self._lacks(record, f"the request of r{number}", "what was asked", is_request=True)
        for (_, number), one in self._open.items():
            self._lacks(one.request, f"how r{number} ended", "what was answered")
            if one.writes:
                self._write(one.request, "unknown")

    def _request(self, record: Record, exchange: tuple[str, int]) -> None:
        source, number = exchange
        if number in self._asked[source]:
            self._loose(record, "another request has that number")
        early = self._unasked.pop(exchange, None)
        if early is not None:
            self._loose(early, "its request is on record only after it")
        self._asked[source].add(number)
        self._open[exchange] = _Exchange(record, bool(record.fields.get("writes")))

    def _answer(self, exchange: tuple[str, int], record: Record) -> None:
        if record.kind in _ANSWERS:
            self._found.replies += 1
            self._found.first_reply = self._found.first_reply or record
        one = self._open[exchange]
        if record.kind == "http.reply.head":
            one.headed = True
            status = str(record.fields.get("status", ""))
            if one.writes and not status.startswith("1"):
                self._write(one.request, "answered" if status.startswith(("2", "3")) else "refused")
                one.writes = False
        if record.kind == "http.reply.body" and not one.headed:
            what = f"the head of the reply to r{exchange[1]}"
            self._lacks(record, what, "whether it was well")
        if record.kind in _ENDING:
            if one.writes and record.kind != "http.reply.body":
                self._write(one.request, "unknown")
            del self._open[exchange]

    def _write(self, asked: Record, outcome: WriteOutcome) -> None:
        self._found.written[outcome] += 1
        if len(self._found.writes[outcome]) < _KEPT_OF_EACH:
            self._found.writes[outcome].append(Write(asked, outcome))

    def _loose(self, record: Record, why: str) -> None:
        if len(self._found.loose) < _KEPT_OF_EACH:
            self._found.loose.append(Loose(record, why))

    def _lacks(
        self, record: Record, what: str, would_show: str, *, is_request: bool = False
    ) -> None:
        if len(self._found.lacking) < _KEPT_OF_EACH:
            self._found.lacking.append(Lacking(record, what, would_show, is_request))
