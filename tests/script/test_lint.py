"""Each gap of the engine is found by reading, and the engine that is pinned does have it."""

import ast

import pytest

from rerail.script.engine import Asked, Ended, Session
from rerail.script.limits import Limits
from rerail.script.lint import lint

GAPS = {
    "base": "class A(Exception):\n    pass",
    "metaclass": "class A(metaclass=type):\n    pass",
    "inner class": "class A:\n    class B:\n        pass",
    "yield": "def f():\n    yield 1\nlist(f())",
    "del": "x = 1\ndel x",
    "async with": "async def f(x):\n    async with x:\n        pass",
    "async for": "async def f(x):\n    async for y in x:\n        pass",
    "except*": "try:\n    pass\nexcept* ValueError:\n    pass",
    "property": "class A:\n    @property\n    def x(self):\n        return 1",
    "len": "class A:\n    def __len__(self):\n        return 3\nlen(A())",
    "less": "class A:\n    def __lt__(self, other):\n        return True\nA() < A()",
    "getattr": "class A:\n    def __getattr__(self, name):\n        return 1\nA().x",
    "json default": "import json\njson.dumps({}, default=str)",
    "json hook": "import json\njson.loads('1', object_hook=dict)",
    "slots": "from dataclasses import dataclass\n@dataclass(slots=True)\nclass A:\n    x: int",
    "keywords": "from dataclasses import dataclass\n@dataclass(kw_only=True)\nclass A:\n    x: int",
    "verbose": "import re\nre.compile('a', re.X)",
    "replace": "import re\nre.sub('a', lambda match: 'b', 'a')",
    "name": "def f():\n    pass\nf.__name__",
    "format map": "'a'.format_map({})",
    "cause": "try:\n    1 / 0\nexcept Exception as error:\n    error.__cause__",
    "abc": "import abc",
    "types": "from types import SimpleNamespace",
    "open": "open('x')",
    "path": "from pathlib import Path\nPath('a').read_text()",
    "environment": "import os\nos.environ['HOME']",
    "variable": "import os\nos.getenv('HOME')",
    "sort key": "sorted([2, 1], key=lambda x: tool('a'))",
    "sort method": "a = [2, 1]\na.sort(key=lambda x: tool('a'))",
    "named key": "def key(x):\n    return tool('a')\nmax([2, 1], key=key)",
    "far key": "def far(x):\n    return tool('a')\ndef key(x):\n    return far(x)\n"
    "min([2, 1], key=key)",
    "map": "list(map(lambda x: tool('a'), [1]))",
    "filter": "list(filter(lambda x: tool('a'), [1]))",
    "equal": "class A:\n    def __eq__(self, other):\n        return tool('a')\nA() == 1",
    "text": "class A:\n    def __repr__(self):\n        return tool('a')\nrepr(A())",
    "bare": "call = tool\ncall('a')",
    "handed on": "list(map(tool, ['a']))",
}

RUNS = {
    "loop": "for x in [1, 2]:\n    tool('a', {'x': x})",
    "list": "[tool('a') for _ in range(3)]",
    "function": "def ask(x):\n    return tool('a', x=x)\nask(1)",
    "init": "class A:\n    def __init__(self):\n        self.x = tool('a')\nA().x",
    "enter": "class A:\n    def __enter__(self):\n        return tool('a')\n"
    "    def __exit__(self, *a):\n        pass\nwith A():\n    pass",
    "finally": "try:\n    pass\nfinally:\n    tool('a')",
    "reduce": "import functools\nfunctools.reduce(lambda a, b: tool('a'), [1, 2])",
    "sorted": "sorted(['b', 'a'], key=lambda x: x.lower())",
    "map": "list(map(str, [1, 2]))",
    "getter": "getattr(1, 'real', 0)",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    "A(tool('a')).x",
    "async": "import asyncio\nasync def f():\n    return tool('a')\nawait asyncio.gather(f(), f())",
    "match": "match tool('a'):\n    case {'x': x}:\n        pass\n    case _:\n        pass",
    "text": "f'{tool(\"a\")}'",
}


def runs(code: str) -> Ended:
    session = Session.open(code, "script.py", Limits())
    try:
        asked = session.start({})
        while isinstance(asked, Asked):
            asked = session.tell(1)
        return asked
    finally:
        session.close()


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_is_found_and_is_there(name: str) -> None:
    assert lint(ast.parse(GAPS[name]))
    assert runs(GAPS[name]).error


@pytest.mark.parametrize("name", RUNS)
def test_what_runs_is_let_be(name: str) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    tree = compile(RUNS[name], "script.py", "exec", flags)
    assert isinstance(tree, ast.Module)
    assert lint(tree) == []
    assert not runs(RUNS[name]).error


def test_a_generator_expression_calls_every_tool() -> None:
    code = "any(tool('a') for _ in range(5))"
    assert "every tool()" in lint(ast.parse(code))[0].what
    session = Session.open(code, "script.py", Limits())
    asked, calls = session.start({}), 0
    while isinstance(asked, Asked):
        calls += 1
        asked = session.tell(1)
    session.close()
    assert calls == 5


def test_findings_have_their_places_in_order() -> None:
    found = lint(ast.parse("x = 1\ndel x\nclass A(B):\n    pass"))
    assert [(finding.line, finding.column) for finding in found] == [(2, 1), (3, 1)]
