"""Two runs in two planes beside each other: the first record that says something else. Facts only.

Records are told by their kind and by what they are about; times, places of this machine and made-up
identifiers are no difference. What was asked and answered over the wire is `difference`'s.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rerail.trace.gathered import Gathered
from rerail.trace.record import Record, text

_ABOUT: Final = ("name", "budget", "check_id", "moment", "target", "number")
_NO_DIFFERENCE: Final = frozenset((
    "seq", "at", "wall", "component", "run_id", "approval_id", "attempt_id", "hold_id", "tape_id",
    "folder", "source", "path", "expires", "seed", "witness", "cwd", "facts", "capture", "writer",
    "hidden", "writable", "argv", "output", "errors", "left_out", "parent", "environment",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A record of the bad run, and how it differs from the good one's.

    `good` is None where the good run has no such record, `bad` where the bad one has none; `order`
    is then that of the last record they have in common.
    """

    good: Record | None
    bad: Record | None
    order: int
    differences: Mapping[str, tuple[Any, Any]]


def first_otherwise(good: Gathered, bad: Gathered) -> Otherwise | None:
    """The first record that is not the same in both; None for none."""
    return next(_otherwise(good, bad), None)


def _otherwise(good: Gathered, bad: Gathered) -> Iterator[Otherwise]:
    of_good = dict(_named(good))
    order = 0
    for name, record in _named(bad):
        other = of_good.pop(name, None)
        if other is None:
            yield Otherwise(None, record, record.order, {})
            return
        differences = _differences(other, record)
        if differences:
            yield Otherwise(other, record, record.order, differences)
            return
        order = record.order
    for record in of_good.values():
        yield Otherwise(record, None, order, {})


def _named(found: Gathered) -> Iterator[tuple[tuple[str, ...], Record]]:
    """Each record under what it is about, and the how-manieth of those it is."""
    counts: Counter[tuple[str, ...]] = Counter()
    for record in found.deciding:
        if record.kind.startswith("hold.") or _only_took_time(record):
            continue
        about = (record.kind, *(text(record, name) for name in _ABOUT))
        counts[about] += 1
        yield (*about, str(counts[about])), record


def _only_took_time(record: Record) -> bool:
    """How long a run took is no difference, unless it took too long."""
    seconds = record.kind == "budget.changed" and text(record, "budget") == "seconds"
    return seconds and not record.fields.get("spent")


def _differences(good: Record, bad: Record) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*good.fields, *bad.fields))
    return {
        name: (good.fields.get(name), bad.fields.get(name))
        for name in names
        if name not in _NO_DIFFERENCE and good.fields.get(name) != bad.fields.get(name)
    }
