"""Which calls check something, and what their answers say."""

from typing import Any

import pytest

from rerail.trace.detect.checking import is_check, runs_anything, went_well
from tests.trace.detect.stories import calls, reading, told


@pytest.mark.parametrize(
    ("name", "arguments", "is_one"),
    [
        ("run_tests", {}, True),
        ("check_invoice", {}, True),
        ("Bash", {"command": "cd a && python -m pytest -q"}, True),
        ("bash", {"command": "make lint"}, True),
        ("bash", {"command": "cat tests/test_a.py"}, False),
        ("read_file", {"path": "tests/test_a.py"}, False),
        ("run_worker", {"code": "1"}, False),
    ],
)
def test_a_check_is_known_by_its_name_or_by_what_a_shell_runs(
    name: str, arguments: dict[str, Any], is_one: bool
) -> None:
    (call,) = reading(calls(name, **arguments)).calls
    assert is_check(call) is is_one
    assert runs_anything(call) is (name.lower() in ("bash",) or name.startswith("run_"))


@pytest.mark.parametrize(
    ("answer", "well"),
    [
        ("12 passed", True),
        ("12 passed, 0 failed", True),
        ("0 errors", True),
        ("1 failed, 2 passed", False),
        ("the VAT is not 21\n1 error", False),
        ("exit 1\nTraceback (most recent call last):", False),
        ("FAILED tests/test_a.py", False),
        ("Process exited with code 2", False),
        ("exit 0", True),
    ],
)
def test_an_answer_is_well_or_not(answer: str, well: bool) -> None:
    (call,) = reading(calls("run_tests"), told(answer)).calls
    assert went_well(call) is well
