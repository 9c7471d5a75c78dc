"""`rerail show FOLDER`: the tapes of a folder as a tree, each fork under the tape it came from."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rerail.cli.screen.complaint import complain
from rerail.cli.screen.texts import for_person, json_text, say, table, utc
from rerail.rewind.family import Family, Member, family_in, read_members

LOOKED_AT: Final = 200
"""So many tapes beside one are looked at to say what came of it."""

_HEADERS: Final = ("tape", "came from", "ended", "task", "started", "put in")
_SAID: Final = 60
_FAR: Final = 19
"""Characters of an id that tell it: `sha256:` and twelve digits."""


def tapes_in(folder: Path) -> list[Path]:
    """The tapes that stand in a folder itself; none where it is no folder that we may read."""
    with suppress(OSError):
        return sorted(folder.glob("*.tape")) if os.path.isdir(folder) else []  # noqa: PTH112
    return []


def show_family(folder: Path, tapes: Sequence[Path], *, as_json: bool) -> int:
    """Draw the tree; returns the exit status."""
    found = family_in(tapes)
    if as_json:
        say(json_text({"folder": str(folder), "tapes": [_values(one) for one in found.roots]}))
    else:
        rows = [row for root in found.roots for row in _rows(root)]
        failed = [bool(one.ended and (one.ended.status or one.ended.signal)) for one in _all(found)]
        table(rows, headers=_HEADERS, yielding=(3, 5), failed=failed)
    return _tell_damage(found)


def _rows(member: Member, lead: str = "", branch: str = "") -> Iterator[tuple[str, ...]]:
    """A tape and what came of it; for a pipe the tree is in the second column alone."""
    drawn = f"{lead}{branch}" if for_person() else ""
    yield (
        f"{drawn}{member.path.name}",
        _origin(member),
        ending(member),
        member.run.task_id,
        _moment(member.run.wall),
        _put_in(member),
    )
    below = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for child in member.children:
        last = child is member.children[-1]
        yield from _rows(child, below, "└─ " if last else "├─ ")


def _moment(wall: int) -> str:
    """To the second for a person: the table is wide as it is."""
    return re.sub(r"\.\d+Z$", "Z", utc(wall)) if for_person() else utc(wall)


def _all(found: Family) -> Iterator[Member]:
    """In the order in which they are drawn."""
    waiting = list(reversed(found.roots))
    while waiting:
        member = waiting.pop()
        yield member
        waiting += reversed(member.children)


def _put_in(member: Member) -> str:
    """What this fork changed in the requests itself: its hint in its own words."""
    parent = member.run.parent
    own = [edit for edit in parent.edits if edit.step == parent.step] if parent else []
    texts = (edit.text if edit.kind == "hint" else edit.kind for edit in own)
    told = ", ".join(texts)
    return f"{told[:_SAID]}…" if for_person() and len(told) > _SAID else told


def _origin(member: Member) -> str:
    parent = member.run.parent
    if parent is None:
        return ""
    step = f" at s{parent.step}" if parent.step else ""
    if member.parent is not None and for_person():
        return f"{parent.relation}{step}"  # whose, the tree shows
    if member.parent is None:
        return f"{parent.relation} of {parent.tape_id[:_FAR]}, which is not here,{step}".rstrip(",")
    return f"{parent.relation} of {member.parent.path.name}{step}"


def ending(member: Member) -> str:
    """`exit 0`, `signal 9`, or the state of a tape without an end."""
    if member.ended is None:
        return member.state
    ended = member.ended
    return f"signal {ended.signal}" if ended.signal else f"exit {ended.status}"


def relatives(path: Path, tape_id: str) -> Iterator[tuple[str, str]]:
    """What a tape's page says of those that came of it, in the same folder."""
    paths = tapes_in(path.parent)
    if len(paths) > LOOKED_AT:
        yield "forks", f"not looked for: `rerail show {path.parent}` draws {len(paths)} tapes"
        return
    for member in read_members(paths).members:
        parent = member.run.parent
        if parent is not None and parent.tape_id == tape_id:
            step = f" at s{parent.step}" if parent.step else ""
            yield parent.relation, f"{member.path.name}{step}, {ending(member)}"


def _values(member: Member) -> dict[str, Any]:
    parent, ended = member.run.parent, member.ended
    return {
        "tape": str(member.path),
        "id": member.tape_id or None,
        "run_id": member.run.run_id,
        "task_id": member.run.task_id,
        "state": member.state,
        "status": ended.status if ended else None,
        "signal": ended.signal if ended else None,
        "started_wall_ns": member.run.wall,
        "parent": {
            "tape_id": parent.tape_id,
            "step": parent.step or None,
            "relation": parent.relation,
            "here": member.parent is not None,
            "edits": [
                {"step": one.step, "kind": one.kind, "text": one.text} for one in parent.edits
            ],
        }
        if parent
        else None,
        "children": [_values(child) for child in member.children],
    }


def _tell_damage(found: Family) -> int:
    for error in found.damage:
        complain(error.what, error.hint)
    return 1 if found.damage else 0
