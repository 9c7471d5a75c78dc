"""Ways around a type checker, counted in the compiler's own tree. Pure: given inspections.

Text is never searched for words: `any` in a comment, a string or a name is no escape.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from rerail.tools.typescript_inspect import Inspection
from rerail.tools.typescript_tree import Kind, Node, Tree

ESCAPES: Final[Mapping[str, str]] = {
    "any": "`any` was written",
    "assertion": "a type was asserted (`as T` or `<T>`)",
    "non-null": "`!` was written behind a value or a name",
    "directive": "a comment silences the checker",
    "declare": "something was declared that is not there",
    "any-typed": "a call, a declaration, a member or a type name is `any` without saying so",
    "import": "something was imported that is no file of the project, or cannot be told before",
}
_KINDS: Final = {
    Kind.ANY: "any",
    Kind.AS: "assertion",
    Kind.ANGLE_ASSERTION: "assertion",
    Kind.NON_NULL: "non-null",
    Kind.EXCLAMATION: "non-null",
    Kind.DECLARE: "declare",
}
# As the compiler reads them: in a block only the last line counts, `nocheck` only after `//`. It
# looks at how the first two begin, so that `@ts-ignored` silences too, and at no case of the third.
_ON_A_LINE: Final = re.compile(r"//+\s*@(ts-(ignore|expect-error)|(?i:ts-nocheck)\b)")
_IN_A_BLOCK: Final = re.compile(r"[/*]*\s*@ts-(ignore|expect-error)")


def escapes(inspections: Iterable[Inspection], *, wrong: bool = False) -> dict[str, int]:
    """How often each escape is there; those that are not there count 0.

    In `wrong` files what is an error is `any` to the compiler: there nothing is said of it.
    """
    found: Counter[str] = Counter()
    for each in inspections:
        found.update(_written(each.tree))
        found["directive"] += sum(map(_is_directive, each.tree.comments))
        found["any-typed"] += 0 if wrong else len(each.any_typed)
        found["import"] += sum(not _is_own(module) for module in each.tree.imported)
    return {name: found[name] for name in ESCAPES}


def _written(tree: Tree) -> Iterable[str]:
    for node in tree.nodes:
        name = _KINDS.get(Kind(node.kind)) if node.kind in _KINDS else None
        if name and not (name == "assertion" and _is_const(tree, node)):
            yield name


def _is_own(module: str | None) -> bool:
    return module is not None and module.startswith(("./", "../"))


def _is_const(tree: Tree, assertion: Node) -> bool:
    """`as const` narrows, and asserts nothing."""
    return any(
        child.kind == Kind.TYPE_REFERENCE and tree.source(child) == "const"
        for child in tree.children(assertion)
    )


def _is_directive(comment: str) -> bool:
    if comment.startswith("//"):
        return _ON_A_LINE.match(comment) is not None
    last = comment.splitlines()[-1].strip()
    return _IN_A_BLOCK.match(last) is not None
