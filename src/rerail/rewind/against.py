"""What came of a fork, beside what came of the run it went back into: two accounts of two tapes.

Each is of the whole run, so a fork's has the replayed turns too. Judges neither.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from rerail.compare.words import grouped
from rerail.llm.turns import Turn
from rerail.rewind.moments import END, Moments
from rerail.tape.records import RunEnded
from rerail.workspace.changes import changes, held, same_thing

_KEPT: Final = 200
_SHOWN: Final = 5


def _says(text: str) -> Meta:
    return Meta(description=text)


class Account(Struct, frozen=True, kw_only=True):
    """What came of one run, from its start to its end."""

    ended: Annotated[str, _says("`status 0`, `signal 9`; empty: it was lost")] = ""
    turns: int = 0
    input_tokens: Annotated[int | None, _says("null: the provider did not say")] = None
    output_tokens: int | None = None
    errors: Annotated[int | None, _says("by the check, of its last files; null: no score")] = None

    @classmethod
    def of(cls, ended: RunEnded | None, turns: list[Turn], errors: int | None) -> "Account":
        usages = [turn.completion.usage for turn in turns if turn.completion]
        return cls(
            ended=_ended(ended),
            turns=len(turns),
            input_tokens=total([usage.input_tokens for usage in usages]),
            output_tokens=total([usage.output_tokens for usage in usages]),
            errors=errors,
        )


class Against(Struct, frozen=True, kw_only=True):
    """The two, and the paths that their last files differ in."""

    recorded: Account
    rewound: Account
    differing: Annotated[int | None, _says("null: one of them has no last snapshot")] = None
    differs: Annotated[list[str], _says("the first of them, with `+`, `~` or `-`")] = []


def against(recorded: Account, rewound: Account, before: Moments, after: Moments) -> Against:
    """Put two accounts side by side, with what their last files differ in."""
    old, new = before.tree(END), after.tree(END)
    if old is None or new is None:
        return Against(recorded=recorded, rewound=rewound)
    found = changes(held(old), held(new), same=same_thing)
    names = [(entry.name, "+") for entry in found.added if not entry.is_folder]
    names += [(entry.name, "-") for entry in found.removed if not entry.is_folder]
    names += [(entry.name, "~") for _, entry in found.changed]
    marked = [f"{mark} {name}" for name, mark in sorted(names)]
    return Against(
        recorded=recorded, rewound=rewound, differing=len(marked), differs=marked[:_KEPT]
    )


def _ended(ended: RunEnded | None) -> str:
    if ended is None:
        return ""
    return f"signal {ended.signal}" if ended.signal else f"status {ended.status}"


def total(counts: list[int | None]) -> int | None:
    """The sum of those that are known; None where none is."""
    said = [count for count in counts if count is not None]
    return sum(said) if said else None


def side_by_side(found: Against, live: int) -> Iterator[str]:
    """Both as a small table for a person; `live` of the fork's turns were."""
    one, other = found.recorded, found.rewound
    rows = [
        ("", "recorded", "rewound"),
        ("ended", one.ended or "lost", other.ended or "lost"),
        ("errors", _known(one.errors), _known(other.errors)),
        ("model calls", str(one.turns), f"{other.turns}, {live} of them live"),
        ("tokens", _tokens(one), _tokens(other)),
    ]
    shown = [row for row in rows if any(row[1:])]
    wide = max(len(row[1]) for row in shown)
    for name, was, now in shown:
        yield f"{name:<11}  {was:<{wide}}  {now}".rstrip()
    if found.differing is not None:
        more = found.differing - _SHOWN
        names = ", ".join(found.differs[:_SHOWN]) + (f", {more} more" if more > 0 else "")
        yield f"{'files':<11}  {names or 'the same at the end'}"


def _known(errors: int | None) -> str:
    return "" if errors is None else str(errors)


def _tokens(account: Account) -> str:
    if account.input_tokens is None and account.output_tokens is None:
        return ""
    return f"{grouped(account.input_tokens or 0)} in, {grouped(account.output_tokens or 0)} out"
