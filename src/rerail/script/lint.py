"""What a script does that its engine cannot: found by reading it, before the first paid call. Pure.

Only what neither the engine's own reading nor its type checker says: the engine finds these when it
comes to them, which may be after many turns. Each was tried on the version that is pinned; a test
tries each again.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing at one place: what, and what to write instead."""

    line: int
    column: int
    what: str
    mend: str = ""


_CALLED_BACK: Final = frozenset(("sorted", "min", "max", "map", "filter", "sort", "sub", "subn"))
_WAITS_IN: Final = frozenset(("__init__", "__enter__", "__exit__", "__call__"))
_NOT_CALLED: Final = frozenset(
    ("__len__", "__bool__", "__lt__", "__le__", "__gt__", "__ge__", "__getattr__")
)
_DECORATORS: Final = frozenset(("property", "classmethod", "staticmethod"))
_NO_MODULE: Final = frozenset(("abc", "types"))
_FILES: Final = frozenset(
    ("open", "read_text", "write_text", "read_bytes", "write_bytes", "exists", "is_file", "is_dir",
     "iterdir", "mkdir", "unlink", "glob", "stat", "listdir")
)  # fmt: skip
_ENVIRONMENT: Final = frozenset(("environ", "getenv"))
_KEYWORDS: Final = {
    "dumps": ("default", "cls"),
    "dump": ("default", "cls"),
    "loads": ("object_hook", "cls", "parse_float"),
    "dataclass": ("slots", "kw_only"),
}
_ATTRIBUTES: Final = {
    "__name__": "functions have no name",
    "__cause__": "the cause of an error cannot be read",
    "format_map": "texts have no format_map",
}
_FLAGS: Final = frozenset(("X", "VERBOSE"))


def lint(tree: ast.Module) -> list[Finding]:
    """All findings, in the order of their places."""
    waiting = _functions_that_wait(tree)
    found = [*_syntax(tree), *_names(tree), *_waits(tree, waiting)]
    return sorted(set(found))


# What cannot be written.


def _syntax(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        for kinds, what, mend in _STATEMENTS:
            if isinstance(node, kinds):
                yield _at(node, what, mend)
        if isinstance(node, ast.ClassDef):
            yield from _class(node)


_STATEMENTS: Final[tuple[tuple[type[ast.AST] | tuple[type[ast.AST], ...], str, str], ...]] = (
    ((ast.Yield, ast.YieldFrom), "generators (`yield`) do not run", "build a list"),
    (ast.Delete, "`del` does not run", "assign None, or use pop()"),
    (ast.AsyncWith, "`async with` does not run", "use `with`"),
    (ast.AsyncFor, "`async for` does not run", "use `for`"),
    (ast.TryStar, "`except*` does not run", "use `except`"),
)


def _class(node: ast.ClassDef) -> Iterator[Finding]:
    if node.bases or node.keywords:
        yield _at(node, "a class with a base does not run", "hold the other as an attribute")
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield _at(inner, "a class within a class does not run", "write it beside the other")
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in inner.decorator_list:
                if _last_name(decorator) in _DECORATORS:
                    what = f"`@{_last_name(decorator)}` does not run"
                    yield _at(decorator, what, "write a method, or a function beside the class")
            if inner.name in _NOT_CALLED:
                yield _at(inner, f"`{inner.name}` is never called", "write a method, and call it")


# What is not there.


def _names(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif isinstance(node, ast.Attribute):
            if node.attr in _ATTRIBUTES:
                yield _at(node, _ATTRIBUTES[node.attr], "")
            elif node.attr in _ENVIRONMENT and _last_name(node.value) == "os":
                mend = "let the host give the value, by `inputs` or a tool"
                yield _at(node, "a script has no environment", mend)
            elif node.attr in _FLAGS and _last_name(node.value) == "re":
                yield _at(node, "`re.X` is not there", "write the pattern without white space")
        elif isinstance(node, ast.Call):
            yield from _call(node)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
    names = [alias.name for alias in node.names]
    modules = names if isinstance(node, ast.Import) else [node.module or ""]
    for module in modules:
        if module.partition(".")[0] in _NO_MODULE:
            yield _at(node, f"there is no module `{module}`", "")


def _call(node: ast.Call) -> Iterator[Finding]:
    name = _last_name(node.func)
    for keyword in node.keywords:
        if keyword.arg in _KEYWORDS.get(name, ()):
            yield _at(node, f"`{name}` takes no `{keyword.arg}`", "")
    if name in ("sub", "subn") and any(isinstance(given, ast.Lambda) for given in node.args):
        yield _at(node, f"`{name}` takes no function", "use finditer(), and put it together")
    if name in _FILES and (isinstance(node.func, ast.Attribute) or name == "open"):
        yield _at(node, f"a script has no files: `{name}` is refused", "ask a tool")


# Where a tool cannot be called: what calls back cannot wait.


def _functions_that_wait(tree: ast.Module) -> set[str]:
    """The functions of the script that call a tool, or call one that does."""
    bodies = {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    waiting = {"tool"}
    while True:
        more = {name for name, node in bodies.items() if name not in waiting}
        new = {name for name in more if _calls(bodies[name], waiting)}
        if not new:
            return waiting
        waiting |= new


def _calls(node: ast.AST, names: set[str]) -> bool:
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(_last_name(call.func) in names for call in calls)


def _waits(tree: ast.Module, waiting: set[str]) -> Iterator[Finding]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "tool" and id(node) not in called:
            if isinstance(node.ctx, ast.Load):
                yield _at(node, "`tool` is only there to be called", "write a function around it")
            else:
                yield _at(node, "`tool` is given another meaning here", "choose another name")
        elif isinstance(node, ast.Call) and _last_name(node.func) in _CALLED_BACK:
            yield from _called_back(node, waiting)
        elif isinstance(node, ast.GeneratorExp) and _calls(node, waiting):
            what = "every tool() in a generator expression is called, whether it is needed or not"
            yield _at(node, what, "write a loop that ends when it may")
        elif isinstance(node, ast.ClassDef):
            yield from _methods(node, waiting)


def _called_back(node: ast.Call, waiting: set[str]) -> Iterator[Finding]:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    for function in given:
        waits = isinstance(function, ast.Lambda) and _calls(function.body, waiting)
        named = isinstance(function, ast.Name) and function.id in waiting - {"tool"}
        if waits or named:
            what = f"a tool cannot be called from within `{_last_name(node.func)}`"
            yield _at(function, what, "call it in a loop before, and keep what it gave")


def _methods(node: ast.ClassDef, waiting: set[str]) -> Iterator[Finding]:
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name in _WAITS_IN:
            continue
        if method.name.startswith("__") and _calls(method, waiting):
            what = f"a tool cannot be called from within `{method.name}`"
            yield _at(method, what, "call it in a method of another name")


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _at(node: ast.AST, what: str, mend: str) -> Finding:
    place: Callable[[str], int] = lambda name: int(getattr(node, name, 0))  # noqa: E731
    return Finding(place("lineno"), place("col_offset") + 1, what, mend)
