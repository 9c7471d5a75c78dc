"""Pages that are typed from top to bottom: each command prints what the page says."""

import html
import json
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.terminal_page import Shell, agree, learn, plain, translated, typed

ROOT = Path(__file__).parents[2]
PAGES = {
    "docs/nine-in-the-morning.md": "## The end",
    "docs/how-to/import.md": "## What is not claimed",
    "docs/how-to/run.md": "## What it does not do",
    "docs/how-to/trace.md": "## Without a tape",
}
"""Each is typed up to a heading."""
PORT = "8141"
"""The one that pages name; here it is one that is free."""


@pytest.fixture(scope="module")
def as_on_the_pages() -> None:
    """They were typed where everything that cuts a command off works; elsewhere it says so."""
    words = [sys.executable, "-m", "rerail.cli", "doctor", "--json"]
    done = subprocess.run(words, capture_output=True, check=False)
    lacking = [
        found["name"].strip()
        for found in json.loads(done.stdout)
        if found["state"] != "ok" and found["name"] != "durable scripts"
    ]
    if lacking:
        pytest.skip(f"the pages show a machine on which these work: {', '.join(lacking)}")


@pytest.mark.journey
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("as_on_the_pages")
@pytest.mark.parametrize("page", PAGES)
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
    user = pwd.getpwuid(os.getuid()).pw_name
    known: dict[str, str] = {}
    otherwise: list[str] = []
    with Shell(ROOT, environment, tmp_path / "scratch") as shell:
        for one in typed((ROOT / page).read_text("utf-8").partition(PAGES[page])[0]):
            command = translated(one.command, known).replace(PORT, str(free_port))
            said = "\n".join(shell.type(command, one.answer))
            said = said.replace(str(home), "/home/ada").replace(f"by {user})", "by ada)")
            printed = said.splitlines()
            known.update(learn(one.printed, printed))
            if not agree(one.printed, printed):
                otherwise += [f"$ {command}", *printed]
    assert not otherwise, "\n".join(otherwise)


def test_the_picture_shows_what_the_page_says() -> None:
    """It is drawn by `make picture`; a page that says something else wants another picture."""
    page = (ROOT / "docs" / "nine-in-the-morning.md").read_text("utf-8")
    said = {plain(line) for one in typed(page) for line in (f"$ {one.command}", *one.printed)}
    drawn = (ROOT / "docs" / "nine-in-the-morning.svg").read_text("utf-8")
    texts = re.findall(r"<text .*?>(.*?)</text>", drawn)
    lines = [html.unescape(re.sub(r"<[^>]*>", "", text)) for text in texts]
    whole = re.sub(r" \\\n\s*", " ", "\n".join(lines)).splitlines()
    assert {plain(line) for line in whole} - {"", "…"} <= said
    assert len(whole) > 20
