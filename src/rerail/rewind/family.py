"""Which tapes of a folder came from which: forks and replays under the tape that they name."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rerail.errors import RerailError
from rerail.tape.reader import State, Tape
from rerail.tape.records import RunEnded, RunStarted
from rerail.tape.script_records import ScriptForked

_PARTS: Final = re.compile(r"(\D*)(\d*)")
_FORKED_BEFORE: Final = 16
"""A fork of a script says so among its first events, or is none."""


@dataclass(slots=True)
class Member:
    """One tape. `tape_id` is empty where nobody asked for it, or it cannot be worked out.

    `children` are the tapes that name it as their parent, by step, then by the numbers in their
    names: side by side they are made in any order.
    """

    path: Path
    run: RunStarted
    state: State
    ended: RunEnded | None
    tape_id: str = ""
    parent: "Member | None" = field(default=None, repr=False)
    children: list["Member"] = field(default_factory=list)


@dataclass(slots=True)
class Family:
    """All tapes of a folder, in the order of their starts, and why some cannot be read."""

    members: list[Member] = field(default_factory=list)
    damage: list[RerailError] = field(default_factory=list)

    @property
    def roots(self) -> list[Member]:
        """Those whose parent is none of them."""
        return [member for member in self.members if member.parent is None]


def family_in(paths: Sequence[Path]) -> Family:
    """Read who is whose parent. An id costs reading all events: none is read for nothing."""
    family = read_members(paths)
    wanted = {member.run.parent.tape_id for member in family.members if member.run.parent}
    _find_parents(family, wanted)
    return family


def read_members(paths: Sequence[Path]) -> Family:
    """The tapes alone, as their first and last events are; nobody's parent is looked for."""
    family = Family()
    for path in paths:
        try:
            with Tape.open(path) as tape:
                family.members.append(Member(path, tape.run, tape.state, tape.ended))
        except RerailError as error:
            family.damage.append(error)
    family.members.sort(key=lambda member: (member.run.wall, member.path))
    return family


def _grown(member: Member, family: Family) -> Member | None:
    """The parent of a script's fork that has grown since: its id was the root over fewer events."""
    forked = _forked(member)
    assert member.run.parent is not None
    for other in family.members:
        if forked is not None and other.run.run_id == forked.run_id:
            with suppress(RerailError), Tape.open(other.path) as tape:
                if tape.id_of_first(forked.events) == member.run.parent.tape_id:
                    return other
    return None


def _forked(member: Member) -> ScriptForked | None:
    with suppress(RerailError), Tape.open(member.path) as tape:
        for event in tape.events(stop=_FORKED_BEFORE):
            if isinstance(event, ScriptForked):
                return event
    return None


def _find_parents(family: Family, wanted: set[str]) -> None:
    by_id: dict[str, Member] = {}
    for member in family.members if wanted else ():
        try:
            with Tape.open(member.path) as tape:
                member.tape_id = tape.id
        except RerailError as error:
            family.damage.append(error)
            continue
        by_id.setdefault(member.tape_id, member)
    for member in family.members:
        named = member.run.parent
        parent = (by_id.get(named.tape_id) or _grown(member, family)) if named else None
        if parent is not None and parent is not member:
            member.parent = parent
            parent.children.append(member)
    for member in family.members:
        member.children.sort(key=_order)


def _order(child: Member) -> tuple[int, list[tuple[str, int]]]:
    parts = _PARTS.findall(child.path.stem)
    step = child.run.parent.step if child.run.parent else 0
    return step, [(word, int(number or 0)) for word, number in parts]
