"""Requests that are equal but for identifiers the client made up and facts of the machine.

Asked only where no recorded request is equal under the other rules. Each use is named and counted;
nothing is served for being merely alike. Bodies are read in recorded order, as far as needed.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from rerail.compare.canon import Fields, HeadKey, Request, head_key
from rerail.compare.facts import Facts
from rerail.compare.outside import Outside, texts_of
from rerail.compare.recorded import Entry, Recorded, in_turn, put
from rerail.compare.redacted import Correspondence
from rerail.compare.renaming import Renaming, Spot
from rerail.compare.skeleton import FACT, Place, Skeleton, place_of, skeleton, without_spots
from rerail.compare.volatile import Rules
from rerail.wire.coding import decode

RENAMED: Final = "renamed ids"
EXCUSED: Final = 1000
"""Places of one request that are looked at for whether they really differ."""
EXPLAINED: Final = {
    RENAMED: "identifiers that the client makes up anew in each run stand for the recorded ones, "
    "one to one through the whole run",
}


class Alike(Struct, frozen=True):
    """How a present request is a recorded one: by which rules, and which identifier is which."""

    rules: tuple[str, ...]
    pairs: dict[str, str]


class Likeness:
    """What is known of identifiers and facts in one replay.

    `given` are texts that the runs were given: arguments, variables. `used` counts the requests
    in which each renamed identifier stood, by its recorded name.
    """

    def __init__(self, rules: Rules, facts: Facts | None = None, given: Iterable[str] = ()) -> None:
        self.facts = facts or Facts({}, {})
        self.renaming = Renaming()
        self.used: Counter[str] = Counter()
        self._rules = rules
        self._outside = Outside(given)
        self._entries: Sequence[Entry] = ()
        self._knows_said = False
        self._heard = 0
        self._unread: dict[Place, dict[int, deque[Entry]]] | None = None
        self._read: dict[tuple[Place, Fields, str, bytes], list[Entry]] = {}
        self._skeletons: dict[int, Skeleton | None] = {}
        self._kept: deque[Callable[[], Skeleton | None]] = deque()

    def watch(self, entries: Sequence[Entry]) -> None:
        """These are the recorded requests, in recorded order."""
        self._entries = entries

    def find(
        self, request: Request, head: HeadKey, redacted: Correspondence
    ) -> tuple[Entry, Alike] | None:
        """The earliest unused recorded request that this one is, of the same process first."""
        now = skeleton(request, head, self._rules.for_call(head.call), self.facts)
        if now is None or not now.spots:
            return None
        for entry in self._candidates(now, request.process_id):
            then = self._skeletons[entry.order]
            if then is None or then.key != now.key:
                continue
            if redacted.allows(then.references, now.references):
                found = self._of_spots(then.spots, now.spots, entry.recorded.started)
                if found is not None:
                    return entry, found
        return None

    def adopt(self, found: Alike) -> None:
        """A request was served as that recorded one."""
        self.renaming.adopt(found.pairs)
        self.used.update(old for old, new in found.pairs.items() if old != new)

    def keep(self, entry: Entry) -> None:
        """A request was equal to this one under the other rules: its identifiers stay."""
        self._kept.append(lambda: self._skeleton(entry))

    def keep_message(self, read: Callable[[], Request]) -> None:
        """A message of a conversation was equal to the one that `read` gives."""
        self._kept.append(lambda: self._of_message(read()))

    def message(self, old: Request, now: Request, before: int) -> Alike | None:
        """How a message of a conversation is the recorded one, which was event `before`."""
        first, second = self._of_message(old), self._of_message(now)
        if first is None or second is None or first.key != second.key:
            return None
        return self._of_spots(first.spots, second.spots, before)

    def excuse(self, before: int) -> Callable[[str, str], bool]:
        """Tells whether texts could be the recorded ones of event `before`, for all that is known.

        It is asked about the differences of a request, and tires of those that have too many.
        """
        left = iter(range(EXCUSED))
        return lambda old, new: next(left, None) is not None and self._excuses(old, new, before)

    def _excuses(self, old: str, new: str, before: int) -> bool:
        then, now = list[Spot](), list[Spot]()
        if without_spots(old, self.facts, then) != without_spots(new, self.facts, now):
            return False
        return self._of_spots(then, now, before) is not None

    def _candidates(self, now: Skeleton, process_id: int) -> Iterator[Entry]:
        """Unused requests that were read before; then all others of the place, read on."""
        bucket = self._read.get(now.key, [])
        bucket[:] = [entry for entry in bucket if not entry.used]
        yield from list(in_turn(bucket, process_id))
        if self._unread is None:
            self._unread = {}
            for entry in self._entries:
                lanes = self._unread.setdefault(place_of(entry.head, self.facts), {})
                lanes.setdefault(entry.recorded.request.process_id, deque()).append(entry)
        lanes = self._unread.get(now.place, {})
        own = lanes.get(process_id, deque())
        for lane in (own, *(lane for lane in lanes.values() if lane is not own)):
            while lane:
                entry = lane.popleft()
                if not entry.used:
                    found = self._skeleton(entry)
                    if found is not None:
                        put(self._read, found.key, entry)
                    yield entry

    def _skeleton(self, entry: Entry) -> Skeleton | None:
        if entry.order not in self._skeletons:
            rules = self._rules.for_call(entry.head.call)
            whole = entry.recorded.whole()
            self._skeletons[entry.order] = skeleton(whole, entry.head, rules, self.facts)
        return self._skeletons[entry.order]

    def _of_message(self, request: Request) -> Skeleton | None:
        head = head_key(request, self._rules)
        return skeleton(request, head, self._rules.for_call(head.call), self.facts)

    def _of_spots(self, then: Sequence[Spot], now: Sequence[Spot], before: int) -> Alike | None:
        """Spot by spot: facts by the table of facts, identifiers one to one."""
        if [spot.kind for spot in then] != [spot.kind for spot in now]:
            return None
        rules: set[str] = set()
        pairs: list[tuple[Spot, Spot]] = []
        for old, new in zip(then, now, strict=True):
            if old.kind != FACT:
                pairs.append((old, new))
            elif old.text != new.text:
                rule = self.facts.rule(old.text, new.text)
                if rule is None:
                    return None
                rules.add(rule)
        self._catch_up(before)
        found = self.renaming.allows(pairs, self._outside, before)
        if found is None:
            return None
        if any(old != new for old, new in found.items()):
            rules.add(RENAMED)
        return Alike(tuple(sorted(rules)), found)

    def _catch_up(self, before: int) -> None:
        """Look at what was matched without a look, and at what had come from outside by then."""
        while self._kept:
            kept = self._kept.popleft()()
            if kept is not None:
                self.renaming.keep([spot.text for spot in kept.spots if spot.kind != FACT])
        if not self._knows_said:
            self._knows_said = True
            for entry in self._entries:
                for number, text in _said_by_client(entry.recorded):
                    self._outside.said(number, text)
        while self._heard < len(self._entries):
            recorded = self._entries[self._heard].recorded
            if recorded.started >= before:
                return
            self._heard += 1
            for number, side, read in recorded.said():
                if side == "origin":
                    for text in texts_of(read()):
                        self._outside.add(number, text)


def _said_by_client(recorded: Recorded) -> Iterator[tuple[int, str]]:
    """All that the client said in an exchange, with the event of each."""
    whole = recorded.whole()
    body = whole.body or b""
    coding = whole.header("content-encoding")
    text = (decode(body, coding) if coding else body) or b""
    heads = "\n".join((whole.target, *(value for _, value in whole.headers)))
    yield recorded.started, f"{heads}\n{text.decode('utf-8', 'replace')}"
    for number, side, read in recorded.said():
        if side == "agent":
            yield number, "\n".join(document.decode("utf-8", "replace") for document in read())
