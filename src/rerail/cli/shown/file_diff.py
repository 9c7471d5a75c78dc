"""What changed in a folder, as a unified diff in the form that git and patch read."""

import stat
from collections.abc import Iterator
from difflib import unified_diff
from io import StringIO
from typing import Final

from rerail.tape.trees import Entry
from rerail.workspace.changes import Changes
from rerail.workspace.kept import Kept

_COMPARED: Final = 4 << 20
_NONE: Final = "/dev/null"


def difference(kept: Kept, found: Changes) -> Iterator[str]:
    """The lines, files in order of their paths."""
    pairs: list[tuple[Entry | None, Entry | None]] = []
    pairs += [(None, entry) for entry in found.added]
    pairs += [(entry, None) for entry in found.removed]
    pairs += list(found.changed)
    for before, after in sorted(pairs, key=lambda pair: (pair[0] or pair[1] or _NOTHING).path):
        yield from _of_one(kept, before, after)


_NOTHING: Final = Entry(b"", "folder", 0)


def _of_one(kept: Kept, before: Entry | None, after: Entry | None) -> Iterator[str]:
    entry = after or before
    assert entry is not None
    yield f"diff --git a/{entry.name} b/{entry.name}"
    yield from _modes(before, after)
    if _is_folder(before) and _is_folder(after):
        return
    old, new = _lines(kept, before), _lines(kept, after)
    if old is None or new is None:
        yield f"Binary files a/{entry.name} and b/{entry.name} differ"
        return
    names = (
        f"a/{entry.name}" if before else _NONE,
        f"b/{entry.name}" if after else _NONE,
    )
    for line in unified_diff(old, new, *names, lineterm="\n"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _modes(before: Entry | None, after: Entry | None) -> Iterator[str]:
    if before is None and after is not None:
        yield f"new file mode {after.mode:o}"
    elif after is None and before is not None:
        yield f"deleted file mode {before.mode:o}"
    elif before is not None and after is not None and before.mode != after.mode:
        yield f"old mode {before.mode:o}"
        yield f"new mode {after.mode:o}"


def _is_folder(entry: Entry | None) -> bool:
    return entry is None or stat.S_ISDIR(entry.mode)


def _lines(kept: Kept, entry: Entry | None) -> list[str] | None:
    """The lines of a text with their ends, those of a link's target; None for anything else."""
    if entry is None or entry.kind == "folder":
        return []
    if entry.kind == "link":
        return [entry.content.decode("utf-8", "surrogateescape")]
    if entry.size > _COMPARED:
        return None
    try:
        text = b"".join(kept.content(entry)).decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else list(StringIO(text, newline="\n"))
