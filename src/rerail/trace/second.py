"""The first divergence a second time, by another way: from the stored bytes of the tapes alone.

Shares nothing with `links` and `assumptions`: a table of fields that must agree, looked at event by
event. Where both ways come to the same record, it is not one program's mistake alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rerail.trace.finding import Category

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Second:
    """What the second way found: which event contradicts what was stated, and in which category."""

    order: int
    category: Category


_PAIRS: Final[Mapping[str, tuple[tuple[str, str, Category], ...]]] = {
    "observation.read": (
        ("version", "wanted_version", "task"),
        ("digest of content", "wanted_digest", "task"),
    ),
    "baseline.loaded": (
        ("version", "wanted_version", "check"),
        ("digest", "wanted_digest", "check"),
    ),
    "check.started": (("read_ref", "proposal_ref", "check"),),
}
_FLAGS: Final[Mapping[str, tuple[tuple[str, object, Category], ...]]] = {
    "budget.changed": (("spent", True, "runtime"),),
    "check.ended": (("timed_out", True, "check"),),
    "action.result": (("outcome", "rejected", "target"), ("outcome", "unknown", "target")),
    "action.reconciled": (("state", "partly applied", "target"),),
}
_WORDS: Final[Mapping[str, tuple[str, Category]]] = {
    "observation.read": ("problem", "task"),
    "target.read": ("problem", "target"),
    "baseline.loaded": ("problem", "check"),
    "check.ended": ("problem", "check"),
    "approval.unusable": ("why", "boundary"),
}


def second_derivation(
    stored: Iterable[tuple[int, bytes]], read: Callable[[bytes], bytes]
) -> Second | None:
    """The first contradiction on one tape, given its events as they are stored; None for none.

    `read` gives a content by its digest.
    """
    state = _State(read)
    for order, data in stored:
        fields = msgspec.msgpack.decode(data)
        kind = fields.get("kind", "")
        if kind.partition(".")[0] in _PLANES:
            state.take(order, kind, fields)
    found = [*state.found, *state.of_checks(), *state.of_cases(), *state.of_the_end()]
    return min(found, key=lambda one: one.order, default=None)


_PLANES: Final = frozenset((
    "task", "observation", "baseline", "scratch", "budget", "proposal", "check", "verdict",
    "approval", "action", "target", "cleanup", "process", "agent", "hold", "retry", "run",
))  # fmt: skip


class _State:
    """What was stated so far, and what contradicted it."""

    def __init__(self, read: Callable[[bytes], bytes]) -> None:
        self._read = read
        self._contract = ""
        self.found: list[Second] = []
        self._asked: dict[str, Fields] = {}
        self._approved: dict[str, Fields] = {}
        self._used: dict[str, str] = {}
        self._folder = ""
        self._inputs: set[str] = set()
        self._proposed = 0
        self._failed: list[tuple[int, Fields]] = []
        self._proposals: set[bytes] = set()
        self._ended: list[tuple[int, Fields]] = []
        self._results: list[tuple[int, str]] = []
        self._outcomes: dict[str, set[str]] = {}
        self._before: dict[str, object] = {}
        self._accepted: set[str] = set()
        self._last = 0
        self._over = False
        self._by_number: dict[str, Callable[[int, Fields], Iterator[Category]]] = {
            "approval.requested": self._requested,
            "approval.decided": self._decided,
            "action.attempted": self._attempted,
            "scratch.made": self._scratch,
            "cleanup.done": self._cleanup,
            "verdict.emitted": self._verdict,
            "proposal.made": self._made,
            "process.ended": self._process,
            "check.ended": self._check_ended,
            "check.result": self._check_result,
            "action.result": self._acted,
            "target.read": self._read_of_target,
        }

    def take(self, order: int, kind: str, fields: Fields) -> None:
        if kind.startswith("process.") and (kind, fields.get("process_id")) != ("process.ended", 1):
            return
        for one, other, category in _PAIRS.get(kind, ()):
            got, wanted = _value(fields, one), _value(fields, other)
            if got and wanted and got != wanted:
                self.found.append(Second(order, category))
        for name, value, category in _FLAGS.get(kind, ()):
            if fields.get(name) == value:
                self.found.append(Second(order, category))
        name, category = _WORDS.get(kind, ("", "check"))
        if name and fields.get(name):
            self.found.append(Second(order, category))
        if kind == "observation.read" and not fields.get("problem"):
            self._inputs.add(fields.get("name", ""))
        if kind == "task.accepted":
            self._contract = self._read(fields["contract"]["digest"]).decode("utf-8", "replace")
        if kind == "proposal.made":
            self._proposed = order
        if kind == "check.result" and fields.get("outcome") == "failed":
            self._failed.append((order, fields))
        self._last = order
        self._over = self._over or kind in ("task.ended", "run.ended")
        for category in self._by_number.get(kind, _nothing)(order, fields):
            self.found.append(Second(order, category))

    def of_cases(self) -> Iterator[Second]:
        """A failed case whose rule was an input of the agent's is the proposal's contradiction."""
        if any(one.category == "check" for one in (*self.found, *self.of_checks())):
            return
        for order, case in self._failed:
            if self._was_given(case):
                yield Second(self._proposed or order, "agent")
            elif case.get("tests"):
                yield Second(order, "task")

    def of_checks(self) -> Iterator[Second]:
        """A checker that says one thing by its status and another by its cases."""
        for order, fields in self._ended:
            number = fields.get("check_id")
            said = {one for name, one in self._results if name == number}
            if fields.get("status") and said and said <= {"passed", "skipped"}:
                yield Second(order, "check")

    def of_the_end(self) -> Iterator[Second]:
        if self._contract and not self._over:
            yield Second(self._last, "runtime")

    def _was_given(self, case: Fields) -> bool:
        rule = case.get("tests", "")
        return bool(rule) and (rule in self._inputs or rule in self._contract)

    def _decided(self, order: int, fields: Fields) -> Iterator[Category]:
        approval = fields.get("approval_id", "")
        if fields.get("decision") == "granted":
            self._approved[approval] = fields
            asked = self._asked.get(approval, fields)
            if any(asked.get(name) != fields.get(name) for name in ("proposal_ref", "target")):
                yield "boundary"

    def _requested(self, order: int, fields: Fields) -> Iterator[Category]:
        self._asked[fields.get("approval_id", "")] = fields
        yield from ()

    def _attempted(self, order: int, fields: Fields) -> Iterator[Category]:
        approval = fields.get("approval_id", "")
        granted = self._approved.get(approval)
        if granted is not None:
            same = all(granted.get(name) == fields.get(name) for name in ("proposal_ref", "target"))
            if not same or 0 < granted.get("expires", 0) <= fields.get("wall", 0):
                yield "boundary"
        elif not approval:
            yield "boundary"
        attempt = fields.get("attempt_id", "")
        if self._used.setdefault(approval, attempt) != attempt:
            yield "boundary"

    def _scratch(self, order: int, fields: Fields) -> Iterator[Category]:
        self._folder = fields.get("folder", "")
        yield from ()

    def _cleanup(self, order: int, fields: Fields) -> Iterator[Category]:
        if self._folder and fields.get("folder") != self._folder:
            yield "runtime"

    def _check_ended(self, order: int, fields: Fields) -> Iterator[Category]:
        self._ended.append((order, fields))
        reported = fields.get("reported_ref")
        if reported and reported not in self._proposals:
            yield "check"

    def _check_result(self, order: int, fields: Fields) -> Iterator[Category]:
        self._results.append((fields.get("check_id", 0), fields.get("outcome", "")))
        outcomes = self._outcomes.setdefault(fields.get("name", ""), set())
        outcomes.add(fields.get("outcome", ""))
        if outcomes == {"passed", "failed"}:
            yield "check"

    def _acted(self, order: int, fields: Fields) -> Iterator[Category]:
        if fields.get("outcome") == "accepted":
            self._accepted.add(fields.get("attempt_id", ""))
        yield from ()

    def _read_of_target(self, order: int, fields: Fields) -> Iterator[Category]:
        target, digest = fields.get("target", ""), _value(fields, "digest of content")
        if fields.get("moment") == "before":
            self._before[target] = digest
        claimed = fields.get("moment") == "after" and fields.get("attempt_id") in self._accepted
        if claimed and digest and digest == self._before.get(target):
            yield "target"

    def _made(self, order: int, fields: Fields) -> Iterator[Category]:
        self._proposals.add(fields.get("proposal_ref", b""))
        if not any(fields.get(name) for name in ("added", "changed", "removed")):
            yield "agent"

    def _process(self, order: int, fields: Fields) -> Iterator[Category]:
        if fields.get("process_id") == 1 and self._contract and not fields.get("unknown"):
            if fields.get("signal"):
                yield "runtime"
            elif fields.get("status"):
                yield "agent"

    def _verdict(self, order: int, fields: Fields) -> Iterator[Category]:
        if fields.get("verdict") == "PASS" and self._failed:
            yield "check"


def _nothing(order: int, fields: Fields) -> Iterator[Category]:
    yield from ()


def _value(fields: Fields, name: str) -> object:
    if name == "digest of content":
        return (fields.get("content") or {}).get("digest")
    return fields.get(name)
