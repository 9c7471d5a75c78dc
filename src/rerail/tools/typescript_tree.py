"""The compiler's own tree of a source file, as it sends it: kinds, places, parents. Pure.

The form is the native compiler's (`PROTOCOL_VERSION` of its `unstable` packages); another version
is refused, not guessed at. Positions are UTF-16 units; `text` has one character for each.
"""

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

FORM: Final = 5
_HEADER: Final = struct.Struct("<11I")
_NODE: Final = struct.Struct("<IiiIIII")
_LIST: Final = 0xFFFFFFFF
_EXTENDED: Final = 0x00FFFFFF


class Kind(IntEnum):
    """The kinds of nodes that are looked at here, as version 7.0 numbers them."""

    STRING = 10
    JSX_TEXT = 11
    REGULAR_EXPRESSION = 13
    PLAIN_TEMPLATE = 14
    TEMPLATE_HEAD = 15
    TEMPLATE_MIDDLE = 16
    TEMPLATE_TAIL = 17
    EXCLAMATION = 53
    IMPORT = 101
    ANY = 132
    DECLARE = 137
    PARAMETER = 170
    PROPERTY_DECLARATION = 173
    TYPE_REFERENCE = 184
    INDEXED_ACCESS_TYPE = 200
    OBJECT_PATTERN = 207
    ARRAY_PATTERN = 208
    BINDING_ELEMENT = 209
    PROPERTY_ACCESS = 212
    ELEMENT_ACCESS = 213
    CALL = 214
    NEW = 215
    TAGGED_TEMPLATE = 216
    ANGLE_ASSERTION = 217
    AWAIT = 224
    AS = 235
    NON_NULL = 236
    VARIABLE_DECLARATION = 261
    FOR_IN = 250
    FOR_OF = 251
    IMPORT_DECLARATION = 273
    EXPORT_DECLARATION = 279
    MODULE_REFERENCE = 284


LITERALS: Final = frozenset(
    {
        Kind.STRING,
        Kind.JSX_TEXT,
        Kind.REGULAR_EXPRESSION,
        Kind.PLAIN_TEMPLATE,
        Kind.TEMPLATE_HEAD,
        Kind.TEMPLATE_MIDDLE,
        Kind.TEMPLATE_TAIL,
    }
)


_PLAIN: Final = (Kind.STRING, Kind.PLAIN_TEMPLATE)
_IMPORTS: Final = (Kind.IMPORT_DECLARATION, Kind.EXPORT_DECLARATION, Kind.MODULE_REFERENCE)


class UnknownForm(ValueError):
    """The tree is not in the form that is read here."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `start` is where what stands before it begins, comments included."""

    index: int
    kind: int
    start: int
    end: int
    parent: int


@dataclass(frozen=True)
class Tree:
    """All nodes of a file in the order of the text, and the text."""

    path: str
    text: str
    nodes: tuple[Node, ...]

    def handle(self, node: Node) -> str:
        """How the compiler is told which node is meant."""
        return f"{node.index}.{node.kind}.{self.path}"

    def children(self, node: Node) -> list[Node]:
        """Those right below a node; a list of nodes is looked through."""
        return [each for each in self.nodes if each.parent == node.index]

    def parent(self, node: Node) -> Node:
        """The one right above a node; a list of nodes is looked through."""
        return next(each for each in self.nodes if each.index == node.parent)

    def token_start(self, node: Node) -> int:
        """Where a node itself begins, past the white space and comments before it."""
        return _past_trivia(self.text, node.start)

    def source(self, node: Node) -> str:
        """A node's own text."""
        return self.text[self.token_start(node) : node.end]

    @property
    def imported(self) -> Iterator[str | None]:
        """What is imported, as written; None where a program works it out while it runs."""
        for node in self.nodes:
            if node.kind in _IMPORTS:
                yield from self._strings_below(node)
            elif node.kind == Kind.CALL and self.children(node)[0].kind == Kind.IMPORT:
                yield next(self._strings_below(node), None)

    def _strings_below(self, node: Node) -> Iterator[str]:
        found = (child for child in self.children(node) if child.kind in _PLAIN)
        return (self.source(child)[1:-1] for child in found)

    @cached_property
    def comments(self) -> tuple[str, ...]:
        """Every comment. What the tree says is a literal is not looked into."""
        covered = list(self.text)
        for node in self.nodes:
            if node.kind in LITERALS:
                begin = node.start if node.kind == Kind.JSX_TEXT else self.token_start(node)
                covered[begin : node.end] = "_" * (node.end - begin)
        return tuple(_comments("".join(covered)))


def decode(data: bytes, path: str) -> Tree:
    """Read a tree. Raises `UnknownForm`."""
    try:
        return _decode(data, path)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise UnknownForm(f"the tree of {path} cannot be read: {error}") from error


def _decode(data: bytes, path: str) -> Tree:
    head = _HEADER.unpack_from(data)
    if head[0] >> 24 != FORM:
        raise UnknownForm(f"trees of form {head[0] >> 24} are not known, only of form {FORM}")
    offsets, strings, extended, nodes_at = head[6], head[7], head[8], head[10]
    rows = list(_NODE.iter_unpack(data[nodes_at:]))
    nodes: list[Node] = []
    for index, (kind, start, end, _, parent, _, _) in enumerate(rows):
        if index and kind != _LIST:
            above = rows[parent][4] if parent and rows[parent][0] == _LIST else parent
            nodes.append(Node(index, kind, start, end, above))
    text_index = struct.unpack_from("<I", data, extended + (rows[1][5] & _EXTENDED))[0]
    begin, end = struct.unpack_from("<II", data, offsets + 8 * text_index)
    text = data[strings + begin : strings + end].decode("utf-8", "surrogatepass")
    return Tree(path, _in_units(text), tuple(nodes))


def _in_units(text: str) -> str:
    """One character for each UTF-16 unit, so that positions are indexes."""
    units = array("H", text.encode("utf-16-le", "surrogatepass"))
    return "".join(map(chr, units))


def _past_trivia(text: str, at: int) -> int:
    while at < len(text):
        if text[at].isspace() or text[at] == "\ufeff":
            at += 1
        elif (end := _comment_end(text, at)) is not None:
            at = end
        else:
            break
    return at


def _comments(text: str) -> list[str]:
    found, at = [], 0
    while (at := text.find("/", at)) >= 0:
        end = _comment_end(text, at)
        if end is not None:
            found.append(text[at:end])
        at = end or at + 1
    return found


def _comment_end(text: str, at: int) -> int | None:
    """Where the comment that begins here ends; None where none begins."""
    if text.startswith("//", at):
        ends = [end for mark in "\n\r\u2028\u2029" if (end := text.find(mark, at)) >= 0]
        return min(ends, default=len(text))
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    return None
