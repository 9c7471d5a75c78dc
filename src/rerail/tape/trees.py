"""The tree of a folder as one content: its entries by path, encoded once. Knows no file system.

What is decoded may be put back into a folder, so a tree that could lead out of it is refused here:
a path with `..`, one that is absolute, one below something that is no folder.
"""

import re
import stat
from typing import Final, Literal

import msgspec
from msgspec import Struct

Kind = Literal["file", "folder", "link", "left out"]

TREE_SIZE: Final = 256 << 20
"""Bytes of one encoded tree at most."""

_DIGEST_SIZE: Final = 32
_MODES: Final = 0o177777
_LATEST: Final = (1 << 63) - 1
_DEEPEST: Final = 2048
"""Names in a path at most: the system's own limit is a path of 4096 bytes (PATH_MAX)."""

_LEADS_ASTRAY: Final = re.compile(rb"(?:\A|/)\.{0,2}(?:/|\Z)|\0")


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """One thing in a folder.

    `path` is relative, of raw bytes; empty for the folder itself. `mode` is the whole `st_mode`,
    `size` in bytes. `content` is the SHA-256 of a file, the target of a link, and for what was
    left out (a file, a whole folder, a socket: see `mode`) the reason.
    """

    path: bytes
    kind: Kind
    mode: int
    size: int = 0
    mtime_ns: int = 0
    content: bytes = b""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, one that was left out included."""
        return stat.S_ISDIR(self.mode)

    @property
    def name(self) -> str:
        """The path for people; bytes that are no UTF-8 are surrogates."""
        return self.path.decode("utf-8", "surrogateescape") or "."


Tree = tuple[Entry, ...]
"""Entries in the order of their paths' bytes, the folder itself first."""

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_DECODER: Final = msgspec.msgpack.Decoder(Tree)


def encode_tree(tree: Tree) -> bytes:
    """The content of a tree; its SHA-256 is the tree's digest."""
    return _ENCODER.encode(tree)


def decode_tree(data: bytes) -> Tree:
    """The tree that `data` holds. Raises ValueError where it holds none that is safe to use."""
    try:
        tree = _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("it is no tree of a folder") from error
    _check(tree)
    return tree


def _check(tree: Tree) -> None:
    if not tree or tree[0].path or tree[0].kind != "folder":
        raise ValueError("a tree does not begin with its folder")
    _check_place(tree[0])
    folders, before = {b""}, b""
    for entry in tree[1:]:
        if entry.path <= before:
            raise ValueError("the paths of a tree are out of order")
        if _LEADS_ASTRAY.search(entry.path):
            raise ValueError(f"the path {entry.path!r} leads out of its folder")
        if entry.path.rpartition(b"/")[0] not in folders:
            raise ValueError(f"the path {entry.path!r} is below something that is no folder")
        if entry.kind == "file" and len(entry.content) != _DIGEST_SIZE:
            raise ValueError(f"the file {entry.path!r} has no digest")
        _check_place(entry)
        if entry.kind == "folder":
            folders.add(entry.path)
        before = entry.path


def _check_place(entry: Entry) -> None:
    """Refuse what no system has said of a file, and none could be told."""
    if entry.size < 0:
        raise ValueError(f"the size of {entry.path!r} is negative")
    if not 0 <= entry.mode <= _MODES or entry.mtime_ns > _LATEST:
        raise ValueError(f"the mode or the time of {entry.path!r} is none")
    if entry.path.count(b"/") >= _DEEPEST:
        raise ValueError(f"the path {entry.path[:80]!r}… is deeper than allowed")
    if entry.kind == "link" and b"\0" in entry.content:
        raise ValueError(f"the link {entry.path!r} leads to no path")
