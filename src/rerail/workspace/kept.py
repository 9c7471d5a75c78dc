"""The snapshots on a tape: which there are, the trees they name, the contents of the files."""

from collections.abc import Iterable, Iterator

from rerail.errors import TapeAltered
from rerail.tape.reader import Tape
from rerail.tape.records import Event, WorkspaceSnapshot
from rerail.tape.trees import TREE_SIZE, Entry, Tree, decode_tree


class Kept:
    """The snapshots of a tape's folders, in order. `events` are those of the tape, by default all.

    Raises TapeAltered where an event cannot be read, unless the events are given.
    """

    def __init__(self, tape: Tape, events: Iterable[Event] | None = None) -> None:
        self._tape = tape
        every = tape.events() if events is None else events
        self.all = [event for event in every if isinstance(event, WorkspaceSnapshot)]

    @property
    def workspace(self) -> list[WorkspaceSnapshot]:
        """Those of the workspace itself."""
        return [event for event in self.all if not event.also]

    def of(self, folder: str) -> list[WorkspaceSnapshot]:
        """Those of one folder."""
        return [event for event in self.all if event.folder == folder]

    def before(self, snapshot: WorkspaceSnapshot) -> WorkspaceSnapshot | None:
        """The one of the same folder before this one."""
        earlier = [event for event in self.of(snapshot.folder) if event.seq < snapshot.seq]
        return earlier[-1] if earlier else None

    def tree(self, snapshot: WorkspaceSnapshot) -> Tree:
        """What was in the folder. Raises NotOnTape, TapeAltered."""
        try:
            if snapshot.tree_size > TREE_SIZE:
                raise ValueError("it is larger than a tree may be")
            return decode_tree(self._tape.blob(snapshot.tree))
        except ValueError as error:
            hint = f"see what is wrong with `rerail verify {self._tape.path}`"
            what = f"the tree of event {snapshot.seq} cannot be used: {error}"
            raise TapeAltered(f"{self._tape.path}: {what}", hint=hint) from error

    def content(self, entry: Entry) -> Iterator[bytes]:
        """The content of a file, in pieces. Raises NotOnTape, TapeAltered."""
        return self._tape.blob_stream(entry.content)

    def by_digest(self, digest: bytes) -> Iterator[bytes]:
        """The same, by its digest: what `restore` wants."""
        return self._tape.blob_stream(digest)
