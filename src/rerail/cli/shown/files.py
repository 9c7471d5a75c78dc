"""`rerail show --files`: the folder at a moment, one file of it, or what changed between two."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rerail.cli.facts.events import digest_text, snapshot_text
from rerail.cli.screen.complaint import say_aside
from rerail.cli.screen.texts import (
    block,
    duration,
    for_person,
    json_text,
    one_line,
    quantity,
    say,
    size_text,
    table,
    utc,
)
from rerail.cli.shown import raw as raw_bytes
from rerail.cli.shown.file_diff import difference
from rerail.cli.shown.numbers import Number, exchanges_of, read_number
from rerail.cli.shown.outline import Outline
from rerail.errors import NotOnTape, UsageProblem
from rerail.tape.reader import Tape
from rerail.tape.records import WorkspaceSnapshot
from rerail.tape.trees import Entry, Tree
from rerail.workspace.changes import Changes, changes, held
from rerail.workspace.kept import Kept
from rerail.workspace.restore import restore

_SPAN: Final = re.compile(r"(.+?)\.\.(.+)")
_HOW: Final = "write 3 or s3 for a step, start, end, e12 for a snapshot's event, 3..5 for a change"


@dataclass(frozen=True, slots=True)
class Asked:
    """What of `--files WHEN [PATH]` to show, and how."""

    when: str
    path: str = ""
    extract: Path | None = None
    as_json: bool = False


def show_files(tape: Tape, outline: Outline, asked: Asked) -> int:
    """Print what was asked for. Raises NotOnTape, TapeAltered, UsageProblem."""
    kept = Kept(tape, outline.snapshots)
    if not kept.all:
        how = tape.run.capture.get("workspace", "it was recorded without")
        raise NotOnTape(
            "there are no snapshots of files on this tape",
            hint=f"workspace: {how}",
        )
    page = _Page(kept, outline, _folder_of(kept, asked.path))
    if span := _SPAN.fullmatch(asked.when):
        page.change(span[1], span[2], asked)
    elif asked.extract is not None:
        page.extract(asked.when, asked.extract)
    elif asked.path:
        page.file(asked.when, asked.path)
    elif asked.as_json:
        say(json_text(page.values(asked.when)))
    else:
        page.listing(asked.when)
    return 0


def _folder_of(kept: Kept, path: str) -> str:
    """The folder that a path is in: for a relative one the workspace."""
    folders = list(dict.fromkeys(event.folder for event in kept.all))
    if not path.startswith("/"):
        return folders[0]
    found = [folder for folder in folders if Path(path).is_relative_to(folder)]
    if not found:
        raise NotOnTape(
            f"{path} is in no folder that was snapshotted", hint=f"there are {', '.join(folders)}"
        )
    return max(found, key=len)


class _Page:
    """One folder's snapshots."""

    def __init__(self, kept: Kept, outline: Outline, folder: str) -> None:
        self._kept = kept
        self._outline = outline
        self._folder = folder
        self._snapshots = kept.of(folder)

    # The four things that can be asked for.

    def listing(self, when: str) -> None:
        """The folder at a moment, and what changed since the snapshot before."""
        snapshot = self._at(when)
        tree, found = self._tree_and_changes(snapshot)
        for name, text in self._summary(snapshot):
            say(f"{name:<11}{one_line(text)}" if for_person() else f"{name}\t{one_line(text)}")
        say()
        rows = list(_rows(tree, found))
        table(rows, headers=("", "mode", "size", "file"), right=(2,), yielding=(3,))

    def values(self, when: str) -> dict[str, Any]:
        """The same as JSON values."""
        snapshot = self._at(when)
        tree, found = self._tree_and_changes(snapshot)
        marks = _marks(found)
        return {
            "event": snapshot.seq,
            "why": snapshot.why,
            "exchange": snapshot.exchange_id or None,
            "others": snapshot.others,
            "folder": snapshot.folder,
            "tree": digest_text(snapshot.tree),
            "inconsistent": snapshot.inconsistent,
            "late": snapshot.late,
            "entries": [_values(entry, marks.get(entry.path, "")) for entry in tree],
            "removed": [entry.name for entry in found.removed],
        }

    def file(self, when: str, path: str) -> None:
        """The exact bytes of one file."""
        raw_bytes.write(self._kept.content(self._entry(self._at(when), path)))

    def extract(self, when: str, folder: Path) -> None:
        """The whole folder, into a new one."""
        snapshot = self._at(when)
        tree = self._kept.tree(snapshot)
        make_new(folder)
        restore(tree, folder, self._kept.by_digest)
        files = quantity(sum(entry.kind == "file" for entry in tree), "file")
        left = sum(entry.kind == "left out" for entry in tree)
        without = f" ({left} left out)" if left else ""
        say_aside(f"rerail: {folder} is {self._folder} as it was, {files}{without}")

    def change(self, first: str, last: str, asked: Asked) -> None:
        """What changed between two moments, as a unified diff."""
        before, after = self._at(first), self._at(last)
        found = changes(held(self._kept.tree(before)), held(self._kept.tree(after)))
        if asked.path:
            found = _only(found, self._relative(asked.path))
        if asked.extract is not None:
            raise UsageProblem("--extract takes one moment", hint="`--files 3 --extract DIR`")
        if asked.as_json:
            say(json_text(_change_values(before, after, found)))
            return
        lines = list(difference(self._kept, found))
        if not lines:
            say_aside("rerail: nothing changed")
        for line in lines:
            say(block(line))

    # Parts.

    def _summary(self, snapshot: WorkspaceSnapshot) -> Iterator[tuple[str, str]]:
        after = duration(snapshot.at - self._outline.run.at)
        yield "snapshot", f"e{snapshot.seq}, +{after}, {utc(snapshot.wall)}"
        yield "holds", snapshot_text(snapshot)
        if snapshot.late:
            yield "late", f"touched by the command already: {', '.join(snapshot.late)}"
        others = [event for event in self._kept.all if event.folder != self._folder]
        for folder in dict.fromkeys(event.folder for event in others):
            yield "also", folder

    def _tree_and_changes(self, snapshot: WorkspaceSnapshot) -> tuple[Tree, Changes]:
        tree = self._kept.tree(snapshot)
        before = self._kept.before(snapshot)
        if before is None:
            return tree, Changes()
        return tree, changes(held(self._kept.tree(before)), held(tree))

    def _entry(self, snapshot: WorkspaceSnapshot, path: str) -> Entry:
        wanted = self._relative(path)
        found = [entry for entry in self._kept.tree(snapshot) if entry.path == wanted]
        if not found:
            raise NotOnTape(
                f"there is no {path} in that snapshot",
                hint=f"`rerail show TAPE --files e{snapshot.seq}` lists what there is",
            )
        if found[0].kind != "file":
            raise NotOnTape(f"{path} has no content: {_what(found[0])}", hint="name a file")
        return found[0]

    def _relative(self, path: str) -> bytes:
        inside = Path(path).relative_to(self._folder) if path.startswith("/") else Path(path)
        return os.fsencode(inside)

    def _at(self, when: str) -> WorkspaceSnapshot:
        """The snapshot of a moment. Raises UsageProblem, NotOnTape."""
        if when in ("start", "end"):
            found = [event for event in self._snapshots if event.why == when]
            # A run whose recorder died has no end: its last snapshot is the nearest there is.
            return found[0] if found else self._snapshots[0 if when == "start" else -1]
        try:
            number = read_number(f"s{when}" if when.isdigit() else when)
        except UsageProblem as error:
            raise UsageProblem(f"`{when}` is no moment of a run", hint=_HOW) from error
        if number.kind == "e":
            found = [event for event in self._snapshots if event.seq == number.value]
        else:
            found = self._when_asked(number)
        if not found:
            raise self._no_snapshot(number.kind, str(number))
        return found[0]

    def _when_asked(self, number: Number) -> list[WorkspaceSnapshot]:
        """Those of an exchange or a step; of a turn in a session, from its message on."""
        asking = {item.exchange_id for item in exchanges_of(self._outline, number)}
        turns = [turn for one in asking for turn in self._outline.turns_of(one)]
        behind = [turn.event for turn in turns if number.kind == "s" and turn.step == number.value]
        found = [event for event in self._snapshots if asking.intersection(event.exchanges)]
        found.sort(key=lambda event: event.why != "restored")  # what the run then went on with
        return [event for event in found if event.seq > max(behind, default=0)]

    def _no_snapshot(self, kind: str, number: str) -> NotOnTape:
        if kind == "s":
            return NotOnTape(
                f"there is no snapshot of step {number} on this tape",
                hint="`--files start` and `--files end` may be there",
            )
        seqs = ", ".join(f"e{event.seq}" for event in self._snapshots[:20])
        return NotOnTape(f"{number} is no snapshot, and has none", hint=f"snapshots are {seqs}")


def make_new(folder: Path) -> None:
    """Make a folder for what is restored. Raises UsageProblem where something is there."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise UsageProblem(
            f"{folder} is there already", hint="name a folder that is not there yet"
        ) from error
    except OSError as error:
        raise UsageProblem(
            f"cannot make the folder {folder}: {error.strerror}", hint="name another one"
        ) from error


def _marks(found: Changes) -> dict[bytes, str]:
    marks = {entry.path: "added" for entry in found.added}
    return marks | {now.path: "changed" for _, now in found.changed}


def _rows(tree: Tree, found: Changes) -> Iterator[Sequence[str]]:
    marks = _marks(found)
    signs = {"added": "+", "changed": "~", "": ""}
    lines = [(entry.path, signs[marks.get(entry.path, "")], entry) for entry in tree if entry.path]
    lines += [(entry.path, "-", entry) for entry in found.removed]
    for _, sign, entry in sorted(lines, key=lambda line: line[0]):
        yield sign, stat.filemode(entry.mode), _size(entry), _what(entry)


def _size(entry: Entry) -> str:
    if entry.kind != "file":
        return ""
    return size_text(entry.size) if for_person() else str(entry.size)


def _what(entry: Entry) -> str:
    content = entry.content.decode("utf-8", "surrogateescape")
    if entry.kind == "link":
        return f"{entry.name} -> {content}"
    if entry.kind == "left out":
        return f"{entry.name} (not captured: {content})"
    return f"{entry.name}/" if entry.kind == "folder" else entry.name


def _values(entry: Entry, change: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": entry.name,
        "kind": entry.kind,
        "mode": stat.filemode(entry.mode),
        "mtime_ns": entry.mtime_ns,
    }
    if entry.kind == "file":
        told |= {"size": entry.size, "digest": digest_text(entry.content)}
    elif entry.content:
        name = "target" if entry.kind == "link" else "why"
        told[name] = entry.content.decode("utf-8", "surrogateescape")
    if change:
        told["change"] = change
    return told


def _change_values(
    before: WorkspaceSnapshot, after: WorkspaceSnapshot, found: Changes
) -> dict[str, Any]:
    return {
        "from": before.seq,
        "to": after.seq,
        "folder": after.folder,
        "added": [_values(entry, "") for entry in found.added],
        "changed": [
            {"before": _values(was, ""), "after": _values(now, "")} for was, now in found.changed
        ],
        "removed": [_values(entry, "") for entry in found.removed],
    }


def _only(found: Changes, path: bytes) -> Changes:
    def inside(entry: Entry) -> bool:
        return entry.path == path or entry.path.startswith(path + b"/")

    return Changes(
        tuple(filter(inside, found.added)),
        tuple(filter(inside, found.removed)),
        tuple(pair for pair in found.changed if inside(pair[0])),
    )
