"""The files that an approval is for: those that the contract's commands name, by content."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from rerail.task.contract import Contract
from rerail.task.programs import in_json, others, programs_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "bin").mkdir(parents=True)
    for name in ("check.py", "bin/ctl.sh", "unnamed.py"):
        (folder / name).write_text(name)
    return folder


def named(contract: Callable[..., Contract], *checker: str, apply: list[str]) -> Contract:
    target: dict[str, Any] = {
        "name": "t",
        "apply": {"command": apply},
        "read": {"command": ["true"]},
    }
    return contract(checker={"command": list(checker)}, target=target)


def test_named_by_folder_relatively_and_in_a_line_of_a_shell(
    home: Path, contract: Callable[..., Contract]
) -> None:
    terms = named(
        contract, "python3", "{folder}/check.py", apply=["sh", "-c", "exec './bin/ctl.sh' apply"]
    )
    found = programs_of(terms, home)
    assert list(found) == ["bin/ctl.sh", "check.py"]
    assert found["check.py"] == f"sha256:{sha256(b'check.py').hexdigest()}"


def test_another_content_is_another_program(home: Path, contract: Callable[..., Contract]) -> None:
    terms = named(contract, "check.py", apply=["bin/ctl.sh"])
    before = in_json(programs_of(terms, home))
    assert in_json(programs_of(terms, home)) == before
    (home / "bin" / "ctl.sh").write_text("curl elsewhere")
    now = programs_of(terms, home)
    assert in_json(now) != before
    assert others(before, now) == ["bin/ctl.sh"]
    (home / "check.py").unlink()
    assert others(before, programs_of(terms, home)) == ["bin/ctl.sh", "check.py"]


def test_what_lies_elsewhere_or_is_not_there_is_not_named(
    home: Path, contract: Callable[..., Contract]
) -> None:
    (home.parent / "outside.py").write_text("")
    terms = named(contract, "{folder}/../outside.py", "nowhere.py", "bin", apply=["/bin/true"])
    assert programs_of(terms, home) == {}
