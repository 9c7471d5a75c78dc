"""Finds the recorded request that a request is. The key decides; position only breaks ties.

First the same bytes, then the same value, then the same under named rules, then the same but for
identifiers that the client makes up and facts of the machine; each time the earliest not yet used,
and each recorded request is used once. Nothing alike is ever taken for the same.
Called from one thread. Recorded bodies are read when they are first needed, in recorded order.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from rerail.compare.alike import Alike, Likeness
from rerail.compare.canon import BodyKey, Endpoint, HeadKey, Request, body_key, head_key
from rerail.compare.misses import Miss, MissKind, miss, never_asked, path_template
from rerail.compare.nearest import nearest
from rerail.compare.reasons import reasons
from rerail.compare.recorded import Entry, Key, Lane, Match, Recorded, Verdict, in_turn, put
from rerail.compare.redacted import Correspondence, References
from rerail.compare.volatile import Rules

HEADS_REMEMBERED: Final = 64
LOOKED_BACK: Final = 8
"""Used requests whose bodies are read to tell a repeated request from a new one."""


class Matcher:
    """The requests of one recording, and which of them are used up."""

    def __init__(
        self, recorded: Sequence[Recorded], rules: Rules, likeness: Likeness | None = None
    ) -> None:
        self.rules = rules
        self.likeness = likeness or Likeness(rules)
        self._correspondence = Correspondence()
        self._head_keys: dict[tuple[object, ...], HeadKey] = {}
        self._by_bytes: dict[Key, list[Entry]] = {}
        self._by_value: dict[Key, list[Entry]] = {}
        self._unread: dict[Endpoint, deque[Entry]] = {}
        self._all: dict[Endpoint, list[Entry]] = {}
        self._waiting: dict[Lane, dict[int, Entry]] = {}
        self._entries = [
            Entry(order, item, head_key(item.request, rules)) for order, item in enumerate(recorded)
        ]
        self.likeness.watch(self._entries)
        self._by_id = {entry.recorded.exchange_id: entry for entry in self._entries}
        for entry in self._entries:
            endpoint = entry.head.endpoint
            put(self._by_bytes, entry.by_bytes, entry)
            self._unread.setdefault(endpoint, deque()).append(entry)
            self._all.setdefault(endpoint, []).append(entry)
            self._waiting.setdefault(entry.lane, {})[entry.order] = entry

    def match(self, request: Request) -> Match | Miss:
        """The recorded request that this is, now used; or why there is none."""
        head = self._head_key(request)
        bucket = self._by_bytes.get((head.endpoint, head.strict, request.body_digest), ())
        for entry in in_turn(bucket, request.process_id):
            if self._correspondence.allows(entry.head.references, head.references):
                return self._accept(entry, request, head, None)
        body = body_key(request, self.rules.for_call(head.call))
        key = (head.endpoint, head.loose, body.loose)
        found = self._find(key, request, head.references + body.references, body)
        if found is not None:
            return self._accept(found, request, head, body)
        alike = self.likeness.find(request, head, self._correspondence)
        if alike is None:
            return self._miss(request, head, body)
        alike[0].read(self.rules.for_call(head.call))
        return self._accept(alike[0], request, head, body, alike[1])

    def match_endpoint(self, request: Request) -> Match | None:
        """The next recorded request of the same endpoint, whatever it holds: for side calls.

        Where all are used, the last one again; None where there never was one.
        """
        entries = self._all.get(self._head_key(request).endpoint, [])
        if not entries:
            return None
        entry = next((entry for entry in entries if not entry.used), entries[-1])
        self._take(entry)
        return Match(entry.recorded, "equivalent", ("side call",))

    def next_with_head(self, request: Request) -> Recorded | None:
        """The next unused recorded request with this head, whatever its body: a look ahead."""
        head = self._head_key(request)
        same = (entry for entry in self._all.get(head.endpoint, []) if not entry.used)
        return next((e.recorded for e in same if e.head.loose == head.loose), None)

    def next_from(self, host: str, port: int) -> Recorded | None:
        """The earliest unused request to an origin."""
        for entry in self._entries:
            request = entry.recorded.request
            if not entry.used and (request.host, request.port) == (host, port):
                return entry.recorded
        return None

    def take(self, exchange_id: int) -> None:
        """Count a recorded request as used."""
        self._take(self._by_id[exchange_id])

    def opened_alike(self, exchange_id: int) -> list[Recorded]:
        """The unused requests with the same head and body as a used one, in recorded order."""
        bucket = self._by_bytes.get(self._by_id[exchange_id].by_bytes, [])
        return [entry.recorded for entry in bucket]

    def change(self, exchange_id: int, other: int) -> None:
        """A request that was taken for one turned out to be another with the same head."""
        entry = self._by_id[exchange_id]
        self._take(self._by_id[other])
        entry.used = False
        waiting = self._waiting[entry.lane]
        waiting[entry.order] = entry
        self._waiting[entry.lane] = dict(sorted(waiting.items()))
        bucket = self._by_bytes[entry.by_bytes]
        bucket.append(entry)
        bucket.sort(key=lambda item: item.order)

    def unused(self) -> list[Recorded]:
        """What was never asked for, in recorded order."""
        return [entry.recorded for entry in self._entries if not entry.used]

    def read_ahead(self) -> bool:
        """Read one recorded body that may be needed later; False when there is none left.

        Matching never waits for this. Called in idle moments it makes a later miss quick to tell.
        """
        unread = next((waiting for waiting in self._unread.values() if waiting), None)
        if unread is None:
            return False
        self._read_next(unread)
        return True

    def _head_key(self, request: Request) -> HeadKey:
        """The same head most often comes again: its key is remembered."""
        asked = (
            request.method,
            request.scheme,
            request.host,
            request.port,
            request.target,
            request.headers,
        )
        key = self._head_keys.get(asked)
        if key is None:
            key = head_key(request, self.rules)
            if len(self._head_keys) >= HEADS_REMEMBERED:
                self._head_keys.clear()
            self._head_keys[asked] = key
        return key

    def _find(
        self, key: Key, request: Request, references: References, body: BodyKey
    ) -> Entry | None:
        """By value: among those read before, else reading on until one is the same."""
        bucket = self._by_value.get(key, ())
        strict = [entry for entry in bucket if entry.body and entry.body.strict == body.strict]
        for entries in (strict, bucket):
            for entry in in_turn(entries, request.process_id):
                if self._correspondence.allows(entry.references, references):
                    return entry
        unread = self._unread.get(key[0])
        while unread:
            entry = self._read_next(unread)
            if entry.by_value == key and self._correspondence.allows(entry.references, references):
                return entry
        return None

    def _read_next(self, unread: deque[Entry]) -> Entry:
        entry = unread.popleft()
        if not entry.used:
            entry.read(self.rules.for_call(entry.head.call))
            assert entry.by_value is not None
            put(self._by_value, entry.by_value, entry)
        return entry

    def _accept(
        self,
        entry: Entry,
        request: Request,
        head: HeadKey,
        body: BodyKey | None,
        alike: Alike | None = None,
    ) -> Match:
        now = head.references + (body.references if body else ())
        recorded = entry.references if body else entry.head.references
        self._correspondence.adopt(recorded, now)
        passed_over = self._passed_over(entry)
        self._take(entry)
        rules = reasons(entry, request, head, body, redacted=recorded != now)
        if alike is None:
            self.likeness.keep(entry)
        else:
            self.likeness.adopt(alike)
            rules += alike.rules
        verdict: Verdict = "equivalent" if rules else "exact"
        return Match(entry.recorded, verdict, rules, entry.shared, passed_over)

    def _passed_over(self, entry: Entry) -> int | None:
        """The first unused request of the lane, where the recording had it before this one."""
        first = next(iter(self._waiting[entry.lane].values()), entry)
        if first is entry or first.order > entry.order or first.overlaps(entry):
            return None
        return first.recorded.exchange_id

    def _take(self, entry: Entry) -> None:
        if entry.used:
            return
        entry.used = True
        del self._waiting[entry.lane][entry.order]
        self._by_bytes[entry.by_bytes].remove(entry)
        if entry.by_value and entry in self._by_value.get(entry.by_value, ()):
            self._by_value[entry.by_value].remove(entry)

    def _miss(self, request: Request, head: HeadKey, body: BodyKey) -> Miss:
        entries = self._all.get(head.endpoint, [])
        equal = self._used_equals(entries, request, head, body)
        if equal:
            return miss("used_up", request, equal[-1], equal, self.rules)
        unused = [entry for entry in entries if not entry.used]
        if unused:
            likely = nearest(unused, request.body)
            return self._told("different", request, _recorded(likely), [])
        if entries:
            likely = nearest(entries[::-1], request.body)
            counted = [entry.recorded for entry in entries]
            return self._told("extra", request, _recorded(likely), counted)
        return self._miss_of_endpoint(request, head)

    def _told(
        self, kind: MissKind, request: Request, near: Recorded | None, counted: Sequence[Recorded]
    ) -> Miss:
        """What may differ, as identifiers and facts may, is not told as a difference."""
        excuse = self.likeness.excuse(near.started if near else 0)
        return miss(kind, request, near, counted, self.rules, excuse)

    def _used_equals(
        self, entries: list[Entry], request: Request, head: HeadKey, body: BodyKey
    ) -> list[Recorded]:
        """The used requests that this one is equal to; only the last few are read for that."""
        used = [entry for entry in entries if entry.used]
        for entry in used[-LOOKED_BACK:]:
            entry.read(self.rules.for_call(head.call))
        by_bytes = (head.endpoint, head.strict, request.body_digest)
        by_value = (head.endpoint, head.loose, body.loose)
        return [e.recorded for e in used if e.by_bytes == by_bytes or e.by_value == by_value]

    def _miss_of_endpoint(self, request: Request, head: HeadKey) -> Miss:
        """No such endpoint: perhaps the same path with another identifier in it, not yet asked."""
        template = path_template(head.endpoint[4])
        for entry in self._entries:
            same_origin = entry.head.endpoint[:4] == head.endpoint[:4]
            if same_origin and not entry.used and path_template(entry.head.endpoint[4]) == template:
                return self._told("different", request, entry.recorded, [])
        return never_asked(request, [entry.recorded for entry in self._entries])


def _recorded(entry: Entry | None) -> Recorded | None:
    return entry.recorded if entry else None
