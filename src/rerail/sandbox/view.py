"""What a replayed command is to see of the file system and may write there, as data.

Knows no system call: `mounts` makes it so in a namespace, `ports` as far as rules can.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

CACHES: Final = (
    ".cache",  # uv, pip, Hugging Face and most others; uv does not start without
    ".npm",  # npm's cache and logs
    ".bun/install/cache",
)
"""In the home folder: what may be lost at any time, and what programs insist on writing."""


class Bind(Struct, frozen=True):
    """What is at `source` is seen at `target` instead of what is there, if anything is."""

    source: Path
    target: Path
    read_only: bool = False


class View(Struct, frozen=True, kw_only=True):
    """The whole file system, with these differences.

    `writable` names what may be written, as the command sees it: targets of `binds` are so without
    being named. `private` are folders of which the command writes its own copy, thrown away at the
    end: temporary ones and caches. Everything else can be read only. `writable=None`: no rule.
    """

    binds: tuple[Bind, ...] = ()
    writable: tuple[Path, ...] | None = None
    private: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        binds: Sequence[Bind] = (),
        writable: Sequence[Path] | None = None,
        private: Sequence[Path] = (),
    ) -> "View":
        """Paths made absolute; an outer folder comes before those inside it."""
        absolute = [Bind(bind.source.absolute(), bind.target.absolute(), bind.read_only)
                    for bind in binds]  # fmt: skip
        return cls(
            binds=tuple(sorted(absolute, key=lambda bind: len(bind.target.parts))),
            writable=None if writable is None else _outer_first(writable),
            private=_outermost(private),
        )

    @property
    def changes_nothing(self) -> bool:
        """Whether the command may as well be left where it is."""
        return not self.binds and self.writable is None

    @property
    def free(self) -> list[Path]:
        """All that may be written, as the command sees it."""
        targets = [bind.target for bind in self.binds if not bind.read_only]
        return [*(self.writable or ()), *self.private, *targets]

    def unplaced(self) -> "View":
        """The same where nothing can be put at another path: copies are seen at their own."""
        sources = [bind.source for bind in self.binds if not bind.read_only]
        writable = None if self.writable is None else _outer_first([*self.writable, *sources])
        return replace(self, binds=(), writable=writable)

    def unruled(self) -> "View":
        """The same where writing cannot be restricted."""
        return replace(self, writable=None, private=())

    def outside(self, path: Path) -> Path:
        """Where we find what the command sees at `path`."""
        for bind in reversed(self.binds):
            if path.is_relative_to(bind.target):
                return bind.source / path.relative_to(bind.target)
        return path

    def is_placed(self, path: Path) -> bool:
        """Whether a bind, not the machine, decides what is at `path`."""
        return any(path.is_relative_to(bind.target) for bind in self.binds)


def passing_folders(environment: Mapping[str, str]) -> list[Path]:
    """Folders whose content need not last: temporary ones and caches."""
    named = [environment.get(name) for name in ("TMPDIR", "XDG_CACHE_HOME")]
    folders = [Path("/tmp"), Path("/var/tmp"), *(Path(name) for name in named if name)]  # noqa: S108
    home = environment.get("HOME")
    return [*folders, *(Path(home, cache) for cache in CACHES if home)]


def _outer_first(paths: Sequence[Path]) -> tuple[Path, ...]:
    absolute = dict.fromkeys(path.absolute() for path in paths)
    return tuple(sorted(absolute, key=lambda path: len(path.parts)))


def _outermost(paths: Sequence[Path]) -> tuple[Path, ...]:
    kept: list[Path] = []
    for path in _outer_first(paths):
        if not any(path.is_relative_to(outer) for outer in kept):
            kept.append(path)
    return tuple(kept)
