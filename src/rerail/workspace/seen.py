"""A folder and the path it goes by: a copy is told of as what it is a copy of. Opens nothing."""

from pathlib import Path

from msgspec import Struct


class Seen(Struct, frozen=True):
    """A folder at `place`, which a command sees at `path`.

    `also` marks one beside the workspace. `not_its_own` are paths in it that only hold a place for
    something else; `held` are those that an earlier snapshot held.
    """

    place: Path
    path: str
    also: bool = False
    not_its_own: tuple[bytes, ...] = ()
    held: tuple[bytes, ...] = ()

    @classmethod
    def itself(cls, folder: Path, *, also: bool = False) -> "Seen":
        """A folder that is what it seems."""
        return cls(folder, str(folder), also)
