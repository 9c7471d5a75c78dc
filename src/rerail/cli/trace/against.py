"""The first difference of a case's run to a good one: in what was decided, and over the wire."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rerail.cli.diff import compared
from rerail.cli.trace.words import TapeWords
from rerail.compare.volatile import Rules
from rerail.errors import UsageProblem
from rerail.trace.against import Otherwise, first_otherwise
from rerail.trace.gathered import Gathered, gather, worded
from rerail.trace.record import CaseSource
from rerail.trace.tape_source import TapeSource


def against(good: Path, sources: Sequence[CaseSource], found: Gathered) -> list[str]:
    """What is first otherwise than in the good run, in lines; the earlier one first."""
    bad = next((one for one in sources if isinstance(one, TapeSource)), None)
    if bad is None:
        raise UsageProblem("the case has no tape to compare", hint="leave out --against")
    source = TapeSource("good", good, TapeWords())
    try:
        decided = first_otherwise(worded(gather([source]), [source]), found)
        wire = compared(source.tape, bad.tape, Rules(()), [], []).first
    finally:
        source.close()
    lines = [(one.order, line) for one in [decided] if one for line in _lines(one)]
    if wire is not None:
        where = f"[{bad.name} {wire.bad}]" if wire.bad else f"[good {wire.good}]"
        lines.append((wire.order, f"{wire.kind}: {wire.text}  {where}"))
    return [line for _, line in sorted(lines, key=lambda line: line[0])]


def _lines(found: Otherwise) -> Iterator[str]:
    if found.good is None and found.bad is not None:
        place = f"[{found.bad.source} {found.bad.ref}]"
        yield f"only here: {found.bad.kind} {found.bad.says}  {place}"
    elif found.bad is None and found.good is not None:
        yield f"only in the good run: {found.good.kind} {found.good.says}  [good {found.good.ref}]"
    elif found.good is not None and found.bad is not None:
        place = f"[{found.bad.source} {found.bad.ref}, good {found.good.ref}]"
        for name, (good, bad) in found.differences.items():
            yield f"{found.bad.kind}: {name} is {bad!r}, {good!r} in the good run  {place}"
