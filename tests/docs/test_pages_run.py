"""Pages that are typed from top to bottom: each command prints what the page says."""

import os
import sys
from pathlib import Path

import pytest

from tests.docs.terminal_page import Shell, agree, typed

ROOT = Path(__file__).parents[2]
PORT = "8141"
"""The one that pages name; here it is one that is free."""


@pytest.mark.journey
@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", ["docs/nine-in-the-morning.md"])
def test_a_page_says_what_is_printed(page: str, tmp_path: Path, free_port: int) -> None:
    home = tmp_path / "ada"
    for folder in (home, tmp_path / "scratch", tmp_path / "tmp"):
        folder.mkdir()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "USER": "ada",
        "LOGNAME": "ada",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    with Shell(ROOT, environment, tmp_path / "scratch") as shell:
        for one in typed((ROOT / page).read_text("utf-8")):
            said = "\n".join(shell.type(one.command.replace(PORT, str(free_port))))
            printed = said.replace(str(home), "/home/ada").splitlines()
            assert agree(one.printed, printed), "\n".join([f"$ {one.command}", *printed])
