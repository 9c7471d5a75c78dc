"""A recorded request as the matcher holds it, and what a match says. Bodies stay on the tape."""

from collections.abc import Callable, Hashable, Iterable, Iterator, MutableMapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rerail.compare.canon import BodyKey, Endpoint, Fields, HeadKey, Request, body_key
from rerail.compare.redacted import References
from rerail.compare.volatile import BodyRule

Key = tuple[Endpoint, Fields, bytes]
Lane = tuple[int, Endpoint]
Verdict = Literal["exact", "equivalent"]
Saying = tuple[int, Literal["agent", "origin"], Callable[[], Sequence[bytes]]]
"""The event of something said, who said it, and how to read it."""


class Recorded(Struct, frozen=True):
    """A recorded request. `load` reads its body; `request` holds only the body's digest.

    `started` and `ended` are positions in the recording (event numbers): two requests overlapped
    where one started before the other ended. A request that never ended has a very large `ended`.
    `said` gives what both sides said beside the request itself, decoded when it is read: the reply,
    messages of a conversation. Each with its event; a reply counts from its request on.
    """

    exchange_id: int
    request: Request
    load: Callable[[], bytes | None]
    started: int
    ended: int
    said: Callable[[], Iterable[Saying]] = tuple

    def whole(self) -> Request:
        """The request with its body, as far as it is small enough to be held."""
        return replace(self.request, body=self.load())


class Match(Struct, frozen=True):
    """The recorded request that a request is.

    `rules` names what made them equal where they were not byte for byte (`verdict` "equivalent").
    `by_arrival`: an equal request was under way at the same time in the recording, so the order of
    arrival decides which is which. `passed_over` is the earlier request of the same lane, not yet
    asked, that this one came before.
    """

    recorded: Recorded
    verdict: Verdict
    rules: tuple[str, ...] = ()
    by_arrival: bool = False
    passed_over: int | None = None


class Entry:
    """A recorded request in the index, with what is known of its key so far."""

    __slots__ = ("body", "by_bytes", "head", "lane", "order", "recorded", "shared", "used")

    def __init__(self, order: int, recorded: Recorded, head: HeadKey) -> None:
        self.order = order
        self.recorded = recorded
        self.head = head
        self.body: BodyKey | None = None
        self.used = False
        self.shared = False
        """Whether an equal request was under way at the same time in the recording."""
        self.by_bytes: Key = (head.endpoint, head.strict, recorded.request.body_digest)
        """The key without looking into the body."""
        self.lane: Lane = (recorded.request.process_id, head.endpoint)
        """The process and the endpoint: requests of one lane are expected in recorded order."""

    def read(self, rules: Sequence[BodyRule]) -> BodyKey:
        """The body's part of the key; reads the body the first time."""
        if self.body is None:
            self.body = body_key(self.recorded.whole(), rules)
        return self.body

    def content(self) -> bytes | None:
        """The recorded body."""
        return self.recorded.load()

    @property
    def by_value(self) -> Key | None:
        """The key under all rules; None while the body was not read."""
        return (self.head.endpoint, self.head.loose, self.body.loose) if self.body else None

    @property
    def references(self) -> References:
        """The redacted values of head and body, as far as they were read."""
        return self.head.references + (self.body.references if self.body else ())

    def overlaps(self, other: "Entry") -> bool:
        """Whether both were under way at the same time in the recording."""
        mine, theirs = self.recorded, other.recorded
        return mine.started < theirs.ended and theirs.started < mine.ended


K = TypeVar("K", bound=Hashable)


def put(index: MutableMapping[K, list[Entry]], key: K, entry: Entry) -> None:
    """Add to an index in recorded order, noting where equal requests overlapped."""
    equals = index.setdefault(key, [])
    for other in equals[-1:] + equals[:1]:
        if other.overlaps(entry):
            other.shared = entry.shared = True
    equals.append(entry)


def in_turn(entries: Sequence[Entry], process_id: int) -> Iterator[Entry]:
    """In recorded order, those of the same process first."""
    if len(entries) < 2:
        yield from entries
        return
    yield from (entry for entry in entries if entry.recorded.request.process_id == process_id)
    yield from (entry for entry in entries if entry.recorded.request.process_id != process_id)
