"""What the compiler knows of one file beside its errors: its tree, its exports, what is `any`.

Asks through a function; knows no process.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rerail.errors import ToolFailed
from rerail.tools.typescript_tree import Kind, Node, Tree, UnknownForm, decode

Ask = Callable[..., Any]
_ANY: Final = 1  # TypeFlags.Any
_TYPED: Final = frozenset(
    {
        Kind.CALL,
        Kind.NEW,
        Kind.AWAIT,
        Kind.PROPERTY_ACCESS,
        Kind.ELEMENT_ACCESS,
        Kind.PROPERTY_DECLARATION,
        Kind.TAGGED_TEMPLATE,
        Kind.TYPE_REFERENCE,
        Kind.INDEXED_ACCESS_TYPE,
        Kind.VARIABLE_DECLARATION,
        Kind.PARAMETER,
        Kind.BINDING_ELEMENT,
    }
)

_LOOPS: Final = frozenset({Kind.FOR_IN, Kind.FOR_OF})

# What is taken apart has no type of its own: the compiler says `any`, and its parts are asked for.
_PATTERNS: Final = frozenset({Kind.OBJECT_PATTERN, Kind.ARRAY_PATTERN})


@dataclass(frozen=True, slots=True)
class Inspection:
    """One source file, as the compiler has it.

    `any_typed` are the calls, declarations, members and type names whose type is `any`, written or
    not.
    """

    tree: Tree
    exports: frozenset[str]
    any_typed: tuple[Node, ...]


def inspect(ask: Ask, place: str) -> Inspection:
    """Look into one file; `ask(method, **params)` asks about the present project.

    Raises `ToolFailed` where the compiler speaks another form.
    """
    answer = ask("getSourceFile", file=place)
    try:
        tree = decode(base64.b64decode(answer["data"]), place)
    except (UnknownForm, KeyError, TypeError) as error:
        raise ToolFailed(
            f"the compiler's tree cannot be read: {error}",
            hint="use TypeScript 7.0.2, whose trees are known here",
        ) from error
    return Inspection(tree, _exports(ask, tree), _any_typed(ask, tree))


def _exports(ask: Ask, tree: Tree) -> frozenset[str]:
    """A file without import or export is no module, and has no symbol."""
    symbol = ask("getSymbolAtLocation", location=tree.handle(tree.nodes[0]))
    if not symbol:
        return frozenset()
    return frozenset(each["name"] for each in ask("getExportsOfModule", symbol=symbol["id"]) or ())


def _any_typed(ask: Ask, tree: Tree) -> tuple[Node, ...]:
    patterns = {node.parent for node in tree.nodes if node.kind in _PATTERNS}
    nodes = [
        node
        for node in tree.nodes
        if node.kind in _TYPED and node.index not in patterns and not _is_bare(tree, node)
    ]
    if not nodes:
        return ()
    types = ask("getTypeAtLocations", locations=[tree.handle(node) for node in nodes])
    found = zip(nodes, types, strict=True)
    return tuple(node for node, kind in found if kind and kind["flags"] & _ANY)


def _is_bare(tree: Tree, node: Node) -> bool:
    """`let a;` is `any` only where it is declared: it gets a type from what is put into it."""
    if node.kind != Kind.VARIABLE_DECLARATION or len(tree.children(node)) > 1:
        return False
    statement = tree.parent(tree.parent(node))
    return statement.kind not in _LOOPS
