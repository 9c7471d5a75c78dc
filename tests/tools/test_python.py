"""ty, kept and cold, give the same, whatever changes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerail.errors import ToolMissing
from rerail.tools.kept import Files
from rerail.tools.programs import TY_VARIABLE, find_ty
from rerail.tools.python import Python
from tests.tools.edits import Edits

WRONG = {
    "a.py": "def f(x: int) -> str:\n    return x\n",
    "pkg/__init__.py": "",
    "pkg/b.py": 'from a import f\ny: int = f(1)\ns = "𝄞𝄞é"; z = nothing\n',
}
RIGHT = {
    **WRONG,
    "a.py": "def f(x: int) -> int:\n    return x\n",
    "pkg/b.py": "from a import f\ny: int = f(1)\n",
}

USERS = {
    "a.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass User:\n    name: str\n"
    "    age: int = 0\n\n\ndef greet(user: User) -> str:\n    return f'hello {user.name}'\n",
    "b.py": "from a import User, greet\n\nusers: list[User] = [User('é𝄞', 1)]\n\n\n"
    "def all_of() -> list[str]:\n    return [greet(each) for each in users]\n",
    "c.py": "import json\n\nfrom b import all_of\n\nfirst: str = all_of()[0]\n"
    "count: int = len(all_of())\ndata = json.dumps({'x': count})\n",
}


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    try:
        program = find_ty(environment={"PATH": os.environ.get("PATH", "")})
    except ToolMissing as missing:
        pytest.skip(f"ty is not installed: {missing.what}")
    with Python(program) as tool:
        yield tool


def codes(python: Python, files: Files) -> list[tuple[str, str]]:
    found = python.both(files)
    assert found.mismatch is None, found.mismatch.what
    return [(each.path, each.code) for each in found.kept.diagnostics]


def test_errors_are_found_across_files(python: Python) -> None:
    assert codes(python, WRONG) == [
        ("a.py", "invalid-explicit-return"),
        ("pkg/b.py", "invalid-assignment"),
        ("pkg/b.py", "unresolved-reference"),
    ]
    assert codes(python, RIGHT) == []


def test_a_file_that_comes_or_goes_counts_at_once(python: Python) -> None:
    assert codes(python, RIGHT) == []
    without = {path: text for path, text in RIGHT.items() if path != "a.py"}
    assert codes(python, without) == [("pkg/b.py", "import-not-found")]
    assert codes(python, RIGHT) == []


def test_a_configuration_that_cannot_be_read_is_an_error_and_not_the_old_answer(
    python: Python,
) -> None:
    assert codes(python, RIGHT) == []
    assert codes(python, {**RIGHT, "pyproject.toml": "[tool.ty]\nbogus = 1\n"}) == [
        ("", "configuration")
    ]
    unknown = {**RIGHT, "pyproject.toml": "[tool.ty.rules]\nnosuch = 'error'\n"}
    assert codes(python, unknown) == [("pyproject.toml", "unknown-rule")]
    assert codes(python, WRONG) != []


def test_a_rule_that_the_configuration_switches_off_is_off(python: Python) -> None:
    off = "[tool.ty.rules]\nunresolved-reference = 'ignore'\n"
    assert len(codes(python, {**WRONG, "ty.toml": off.replace("tool.ty.", "")})) == 2


def test_what_is_no_python_is_an_error(python: Python) -> None:
    assert {code for _, code in codes(python, {"a.py": "def (:\n"})} == {"invalid-syntax"}


def test_hints_for_an_editor_are_no_part_of_a_verdict(python: Python) -> None:
    unused = "def f(x: int) -> None:\n    return\n    print(x)\n# type: ignore\n"
    assert codes(python, {"a.py": unused}) == [("a.py", "unused-type-ignore-comment")]


def test_kept_and_cold_agree_over_random_edits(python: Python) -> None:
    edits = Edits(
        ending=".py",
        words=("int", "str", "None", "x", "return", "await", "User"),
        lines=("x: int = 'é𝄞'\n", "import nothing\n", "# type: ignore\n", "reveal_type(1)\n"),
        seed=20261130,
    )
    files: dict[str, str] = {}
    seen: set[str] = set()
    for number in range(80):
        if number % 4 == 0:
            files = dict(edits.choose.choice([WRONG, RIGHT, USERS]))
        edits.edit(files)
        seen |= {code for _, code in codes(python, files)}
    assert len(seen) >= 10, seen


def test_the_variable_names_the_program(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="nothing here"):
        find_ty(environment={TY_VARIABLE: str(tmp_path / "nothing here")})
