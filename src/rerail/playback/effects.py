"""What children did to the recorded folders: whether those are as they were, and the change made.

Snapshots tell how a folder was before a child began and after it had ended. What the agent itself
does in between is in them too: it does it again, so a path that is as it is after is as good as one
that is as it was before. Starts nothing; writes only in the copies of a replay.
"""

import os
import stat
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Final

from rerail.errors import NotOnTape, TapeAltered
from rerail.playback.casting import RecordedChild
from rerail.playback.scratch import Copy
from rerail.tape.reader import Tape
from rerail.tape.records import HttpRequest, ProcessEnded, WorkspaceSnapshot
from rerail.tape.trees import Entry, Tree
from rerail.workspace.changes import changes, held, same_thing
from rerail.workspace.kept import Kept
from rerail.workspace.present import Remembered, present_tree
from rerail.workspace.restore import apply

_ONE_READ: Final = 1 << 20

Span = tuple[Copy, Tree, Tree]
"""A copy, and the trees of its folder before a child began and after it ended."""

Moments = tuple[list[WorkspaceSnapshot], list[int], list[int]]
"""The snapshots of a folder; the event of each; after which event that one or one before was read.
"""


class Effects:
    """The changes that the children of a recording made, for the copies of its replay.

    Without copies, in the folder itself (`in_place`), none is made: whoever has one to make runs.
    """

    def __init__(
        self, tape: Tape, copies: Sequence[Copy] = (), *, in_place: Path | None = None
    ) -> None:
        events = list(tape.events())
        self._kept = Kept(tape, events)
        self._in_place = in_place is not None
        self._ended = {event.process_id: event.seq for event in events
                       if isinstance(event, ProcessEnded)}  # fmt: skip
        self._asked = {event.exchange_id: event.seq for event in events
                       if isinstance(event, HttpRequest)}  # fmt: skip
        copies = copies if in_place is None else self._folders(tape.run.cwd, in_place)
        self._copies = [(copy, self._moments(copy)) for copy in copies]
        self._trees: dict[bytes, Tree] = {}

    def otherwise(self, child: RecordedChild) -> str:
        """Why what a child said then need not be what it would say now, or nothing."""
        try:
            for copy, before, after in self._spans(child):
                if self._in_place:
                    if wanted := self._to_change(copy, before, after):
                        return f"it changed {os.fsdecode(min(wanted))}, and this is no copy"
                    continue
                path = self._differing(copy, before, after)
                if path is not None:
                    return f"{os.fsdecode(path)} is otherwise than when it was recorded"
        except OSError as error:
            return f"the files cannot be read: {error.strerror}"
        except (NotOnTape, TapeAltered):
            return "the files that it was recorded with cannot be read"
        return ""

    def make(self, child: RecordedChild) -> None:
        """Make the change that a child made, where it is not there already."""
        if self._in_place:
            return
        with suppress(OSError, NotOnTape, TapeAltered):
            for copy, before, after in self._spans(child):
                wanted = self._to_change(copy, before, after)
                if wanted:
                    target = _with(before, after, wanted)
                    apply(before, target, copy.place, self._kept.by_digest)

    def _folders(self, recorded: str, here: Path) -> list[Copy]:
        names = dict.fromkeys(event.folder for event in self._kept.all)
        places = {name: here if name == recorded else Path(name) for name in names}
        return [Copy(Path(name), place, (), ()) for name, place in places.items()]

    # Which snapshots.

    def _spans(self, child: RecordedChild) -> Iterator[Span]:
        ended = child.ended
        if ended is None or ended.unknown:
            return
        for copy, (snapshots, written, read) in self._copies:
            before = bisect_left(written, child.started.seq) - 1
            after = bisect_left(read, ended.seq)
            if before >= 0 and after < len(snapshots):
                yield copy, self._tree(snapshots[before]), self._tree(snapshots[after])

    def _moments(self, copy: Copy) -> Moments:
        """What is looked for by halves: there may be as many snapshots as children."""
        snapshots = self._kept.of(str(copy.recorded))
        read = accumulate(map(self._moment, snapshots), max)
        return snapshots, [event.seq for event in snapshots], list(read)

    def _moment(self, snapshot: WorkspaceSnapshot) -> int:
        """The event after which a folder was read; it was written down later than that."""
        if snapshot.why == "child":
            return self._ended.get(snapshot.process_id, 0)
        if snapshot.why == "step":
            return max((self._asked.get(number, 0) for number in snapshot.exchanges), default=0)
        return snapshot.seq

    def _tree(self, snapshot: WorkspaceSnapshot) -> Tree:
        tree = self._trees.get(snapshot.tree)
        if tree is None:
            tree = self._trees[snapshot.tree] = self._kept.tree(snapshot)
        return tree

    # How the copy is now.

    def _differing(self, copy: Copy, before: Tree, after: Tree) -> bytes | None:
        """A path that is neither as before nor as after, nor was other when the replay began."""
        now = present_tree(copy.place, copy.start, Remembered(before, after, copy.start))
        aside = copy.aside
        then = {entry.path: entry for entry in held(after)}
        for path, entry in _differences(held(before), held(now)):
            if path in aside or same_thing(then.get(path), entry):
                continue
            if entry is not None and self._is_on_its_way(copy, entry, then.get(path)):
                continue
            return path
        return None

    def _is_on_its_way(self, copy: Copy, now: Entry, after: Entry | None) -> bool:
        """Whether a file that grows (a log) is a beginning of what it was afterwards."""
        if after is None or now.kind != "file" or after.kind != "file" or now.size > after.size:
            return False
        seen, left = sha256(), now.size
        for piece in self._kept.by_digest(after.content):
            seen.update(piece[:left])
            left -= min(left, len(piece))
        return seen.digest() == now.content

    def _to_change(self, copy: Copy, before: Tree, after: Tree) -> set[bytes]:
        """The paths that the child changed and that are not yet as it left them."""
        then = {entry.path: entry for entry in held(after)}
        once = {entry.path: entry for entry in held(before)}
        wanted = set()
        for path, entry in _differences(held(before), held(after)):
            now = _present(copy.place, path)
            if same_thing(now, entry):
                continue
            untouched = same_thing(now, once.get(path))
            if now and not untouched and self._is_on_its_way(copy, now, then.get(path)):
                continue  # The agent writes it, and goes on writing.
            wanted.add(path)
        return wanted


def _differences(before: Tree, after: Tree) -> Iterator[tuple[bytes, Entry | None]]:
    """Each path that differs, and what is there afterwards."""
    found = changes(before, after, same=same_thing)
    yield from ((entry.path, entry) for entry in found.added)
    yield from ((entry.path, None) for entry in found.removed)
    yield from ((entry.path, entry) for _, entry in found.changed)


def _with(before: Tree, after: Tree, wanted: set[bytes]) -> Tree:
    """The tree before, with only the wanted paths as they are after."""
    entries = {entry.path: entry for entry in held(before) if entry.path not in wanted}
    entries |= {entry.path: entry for entry in held(after) if entry.path in wanted}
    return tuple(entries[path] for path in sorted(entries))


def _present(folder: Path, path: bytes) -> Entry | None:
    """What is at a path now. Raises OSError."""
    place = os.path.join(os.fsencode(folder), path)  # noqa: PTH118 - a path of bytes
    try:
        facts = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(facts.st_mode):
        return Entry(path, "folder", facts.st_mode)
    if stat.S_ISLNK(facts.st_mode):
        return Entry(path, "link", facts.st_mode, content=os.readlink(place))  # noqa: PTH115
    if not stat.S_ISREG(facts.st_mode):
        return None
    digest = sha256()
    with open(place, "rb") as file:  # noqa: PTH123 - a path of bytes
        while piece := file.read(_ONE_READ):
            digest.update(piece)
    return Entry(path, "file", facts.st_mode, facts.st_size, facts.st_mtime_ns, digest.digest())
