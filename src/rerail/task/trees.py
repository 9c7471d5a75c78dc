"""Folders and proposals: a folder scanned onto the tape, a proposal made folder again.

A checker and an applier are given folders made here from what is on the tape, and nothing else.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from stat import S_IFMT, S_IMODE, S_ISREG
from typing import Final

import msgspec
from msgspec import Struct

from rerail.capture.recorder import Recorder
from rerail.clock import file_time_ns
from rerail.errors import UsageProblem
from rerail.tape.event import NotCaptured
from rerail.tape.links import new_ways_out
from rerail.tape.proposals import (
    Proposal,
    encode_proposal,
    proposal,
    ref_of,
    without_times,
)
from rerail.tape.trees import Entry, Tree, encode_tree
from rerail.workspace.changes import held
from rerail.workspace.left_out import LeftOut
from rerail.workspace.pack import Packer, digest_of
from rerail.workspace.restore import restore
from rerail.workspace.scan import Keep, Scanner

OURS: Final = ".rerail-task"
"""The folder in the agent's workspace in which it is told its task: no part of any proposal."""

_USUAL: Final = 0o664
"""The rights that a new file may have unmentioned."""

Contents = Callable[[bytes], Iterable[bytes]]


class KeptTree(Struct, frozen=True):
    """A folder's tree without times, on the tape: its digest and size, and what it lacks."""

    tree: Tree
    digest: bytes
    size: int
    left_out: list[NotCaptured]


class Proposed(Struct, frozen=True):
    """A proposal with the trees it leads from and to."""

    ref: bytes
    size: int
    made: Proposal
    base: KeptTree
    after: KeptTree

    @property
    def leaving(self) -> list[str]:
        """Its links that lead out of it."""
        return new_ways_out(self.base.tree, self.after.tree)


def keep_folder(recorder: Recorder, folder: Path) -> KeptTree:
    """Put a folder's files and its tree on the tape."""
    packer = Packer(recorder.writer, recorder.redactor)
    tree = _scanned(folder, packer.keep)
    content = encode_tree(without_times(tree))
    recorder.writer.blob(recorder.redactor.body(content))
    digest = sha256(content).digest()
    return KeptTree(without_times(tree), digest, len(content), _left_out(tree))


def propose(recorder: Recorder, base: KeptTree, folder: Path) -> Proposed:
    """What was made of `base` in `folder`, on the tape."""
    after = keep_folder(recorder, folder)
    made = proposal(base.tree, after.tree)
    content = encode_proposal(made)
    recorder.writer.blob(recorder.redactor.body(content))
    return Proposed(ref_of(made), len(content), made, base, after)


def propose_again(recorder: Recorder, before: Path, after: Path) -> Proposed:
    """The proposal between two folders that a stored one was made into, on this tape too."""
    return propose(recorder, keep_folder(recorder, before), after)


def make(tree: Tree, folder: Path, contents: Contents) -> None:
    """Make `folder`, which must be empty, what `tree` says. Raises UsageProblem."""
    try:
        restore(tree, folder, contents)
    except OSError as error:
        raise UsageProblem(
            f"the proposal cannot be put into a folder: {error.strerror}: {error.filename}",
            hint="the state folder needs room: see XDG_STATE_HOME",
        ) from error


def read_back(folder: Path, base: Tree) -> bytes:
    """The `proposal_ref` of what is in a folder, against a base: what a checker will read."""
    return ref_of(proposal(base, _scanned(folder, digest_of)))


def copy_folder(source: Path, target: Path, recorder: Recorder) -> KeptTree:
    """Copy a folder, without what no tape holds, and put the copy on the tape."""
    tree = _scanned(source, Packer(recorder.writer, recorder.redactor).keep)
    places = {entry.content: source / entry.name for entry in tree if entry.kind == "file"}
    make(held(tree), target, lambda digest: [places[digest].read_bytes()])
    return msgspec.structs.replace(keep_folder(recorder, target), left_out=_left_out(tree))


def counted(made: Proposal, base: Tree) -> dict[str, int]:
    """How many paths are added, changed and removed, folders of no concern left aside."""
    old = {entry.path for entry in base}
    removed = sum(1 for change in made.changes if not change.mode)
    added = sum(1 for change in made.changes if change.mode and change.path not in old)
    return {"added": added, "changed": len(made.changes) - added - removed, "removed": removed}


def in_words(proposed: Proposed) -> str:
    """The paths, for who is asked: `M retry.yaml, A to (a link to b), M keys/ (mode 0700 to 0777)`.

    Of what is gone it is said where something stands there that no proposal holds.
    """
    before = {entry.path: entry for entry in proposed.base.tree}
    after = {entry.path: entry for entry in proposed.after.tree}
    instead = {item.path: item.why for item in proposed.after.left_out}
    said = []
    for change in proposed.made.changes:
        was, now = before.get(change.path), after.get(change.path)
        name = change.path.decode("utf-8", "surrogateescape") or "."
        said.append(_in_words(name, was, now) if now else _gone(name, was, instead.get(name, "")))
    return ", ".join(said)


def _gone(name: str, was: Entry | None, instead: str) -> str:
    folder = "/" if was and was.is_folder else ""
    return f"D {name}{folder}{f' ({instead} stands there)' if instead else ''}"


def _in_words(name: str, was: Entry | None, now: Entry) -> str:
    folder = "/" if now.is_folder else ""
    kind = _of_link(now) if now.kind == "link" else _of_mode(was.mode if was else 0, now.mode)
    return f"{'M' if was else 'A'} {name}{folder}{kind}"


def _of_link(now: Entry) -> str:
    return f" (a link to {now.content.decode('utf-8', 'surrogateescape')})"


def _of_mode(before: int, after: int) -> str:
    """What is said of a mode: what it was and is now; of a new file, whether it is unusual."""
    if before == after:
        return ""
    if before and S_IFMT(before) == S_IFMT(after):
        return f" (mode {S_IMODE(before):04o} to {S_IMODE(after):04o})"
    usual = _USUAL if S_ISREG(after) else _USUAL | 0o111
    return f" (mode {S_IMODE(after):04o})" if before or S_IMODE(after) & ~usual else ""


def _left_out(tree: Tree) -> list[NotCaptured]:
    return [
        NotCaptured(path=entry.name, why=entry.content.decode("utf-8", "replace"))
        for entry in tree
        if entry.kind == "left out"
    ]


def _scanned(folder: Path, keep: Keep) -> Tree:
    try:
        tree = Scanner(folder, keep, LeftOut(exclude=[OURS])).scan(file_time_ns()).tree
    except OSError as error:
        raise UsageProblem(
            f"the folder `{folder}` cannot be read: {error.strerror}",
            hint="name a folder that can be read",
        ) from error
    return tuple(entry for entry in tree if entry.path != OURS.encode())
