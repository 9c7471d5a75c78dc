"""Everything but some places: what is to be readable, where rules can only allow. Reads folders.

A rule of Landlock allows a place and all beneath it, and takes nothing back. So to hide a place,
whatever lies beside it and beside each folder that leads to it is allowed. Folders on the way can
be passed through and not be listed; what comes into them later is not readable.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def all_but(hidden: Sequence[Path], shown: Sequence[Path] = ()) -> list[Path]:
    """The places to allow, so that none of `hidden` can be read, but for those in `shown`.

    Links are not followed: where one leads is allowed by its own place, or hidden.
    """
    places = [Path(os.path.realpath(place)) for place in hidden]
    allowed = list(_beside(Path("/"), places)) if places else [Path("/")]
    return [*allowed, *(Path(os.path.realpath(place)) for place in shown)]


def _beside(folder: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return  # What we cannot list, the command could not either.
    for entry in entries:
        place = folder / entry.name
        if entry.is_symlink() or place in hidden:
            continue
        inside = [other for other in hidden if place in other.parents]
        if inside:
            yield from _beside(place, inside)
        else:
            yield place
