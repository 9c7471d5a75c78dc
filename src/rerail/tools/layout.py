"""Contents put into a folder of our own: first whole, then what changed. Knows no checker."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rerail.errors import UsageProblem


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from what was there before, by path."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.created or self.changed or self.deleted)


class Layout:
    """A folder that holds exactly the contents last given."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.files: dict[str, str] = {}

    def put(self, files: Mapping[str, str]) -> Changes:
        """Make the folder hold these contents. Raises `UsageProblem` for a path that leads out."""
        for path in files:
            inside(path)
        deleted = tuple(path for path in self.files if path not in files)
        created = tuple(path for path in files if path not in self.files)
        changed = tuple(path for path, text in files.items() if self.files.get(path, text) != text)
        for path in deleted:
            self._remove(path)
        for path in (*created, *changed):
            self._write(path, files[path])
        self.files = dict(files)
        return Changes(created, changed, deleted)

    def _write(self, path: str, text: str) -> None:
        place = self.root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            raise UsageProblem(
                f"`{path}` cannot be written: {error}",
                hint="a path names one file, and a file is no folder",
            ) from error

    def _remove(self, path: str) -> None:
        (self.root / path).unlink()
        for folder in (self.root / path).parents:
            if folder == self.root or any(folder.iterdir()):
                return
            folder.rmdir()


def inside(path: str) -> str:
    """The path, if it is relative, plain and leads nowhere else. Raises `UsageProblem`."""
    parts = PurePosixPath(path).parts
    plain = parts and "/".join(parts) == path and not path.startswith("/")
    if not plain or ".." in parts or "\0" in path or "\\" in path:
        raise UsageProblem(
            f"`{path}` is no path inside a project",
            hint="paths are relative, with `/` between names and without `..`",
        )
    return path
