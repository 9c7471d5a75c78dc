"""Everything but some places: what is to be readable, where rules can only allow. Reads folders.

A rule of Landlock allows a place and all beneath it, and takes nothing back. So to hide a place,
whatever lies beside it and beside each folder that leads to it is allowed. Folders on the way can
be passed through and not be listed; what comes into them later is not readable.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def all_but(hidden: Sequence[Path], shown: Sequence[Path] = ()) -> list[Path]:
    """The places to allow, so that what is in `hidden` cannot be read, and what is in `shown` can.

    One may lie in the other: the innermost decides; of the same place, `hidden`. Links are not
    followed: where one leads is allowed by its own place, or hidden.
    """
    marks = {Path(os.path.realpath(place)): True for place in shown}
    marks |= {Path(os.path.realpath(place)): False for place in hidden}
    return list(_visible(Path("/"), True, marks))


def _visible(place: Path, seen: bool, marks: Mapping[Path, bool]) -> Iterator[Path]:
    seen = marks.get(place, seen)
    inside = {mark: shown for mark, shown in marks.items() if place in mark.parents}
    if not inside:
        if seen:
            yield place
        return
    try:
        with os.scandir(place) as listing:
            names = sorted(entry.name for entry in listing if not entry.is_symlink())
    except OSError:
        return  # What we cannot list, the command could not either.
    for name in names:
        yield from _visible(place / name, seen, inside)
