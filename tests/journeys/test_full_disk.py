"""The disk is full in the middle of a recording: a clear error, a readable tape, an agent told."""

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.tape.reader import Tape
from rerail.testing.origin import Origin
from rerail.testing.replies import chunked, routes, text
from tests.journeys.rail import Rail

pytestmark = pytest.mark.journey

HOST = "download.example.com"
SIZE = 6 << 20
PIECES = 64


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB, which only root may mount."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def download(rail: Rail, start_origin: Callable[..., Origin]) -> list[str]:
    """An agent that downloads more than there is room for, and asks once more.

    Slowly: what passes before the disk is found to be full has passed.
    """
    pieces = [secrets.token_bytes(SIZE // PIECES) for _ in range(PIECES)]
    pages = {"/download": chunked(pieces, pause=0.01), "/page": text("a page")}
    rail.resolve(HOST, start_origin(routes(pages)))
    return rail.python("two_downloads.py", f"http://{HOST}")


def test_by_default_nothing_passes_unrecorded(
    rail: Rail, small_disk: Path, download: list[str]
) -> None:
    recorded = rail.record(*download, tape="small/run.tape")
    assert recorded.status == 125
    broke_off, told = recorded.text.splitlines()[:2]
    assert broke_off.startswith("broke off")
    assert told.startswith("second 502 rerail: ") and "the disk is full" in told
    what, hint = recorded.said.splitlines()[-2:]
    assert what.startswith("rerail: cannot write") and "the disk is full" in what
    assert hint.startswith("hint: ")
    with Tape.open(recorded.tape) as tape:
        assert tape.state == "lost"
        assert len(list(tape.events())) >= 2
        assert sum(body.size for body in tape.unfinished()) < SIZE
    shown = rail.run(*rail.rerail("show", str(recorded.tape)))
    assert shown.status == 0, shown.said


def test_the_agent_may_go_on_unrecorded_where_that_was_asked_for(
    rail: Rail, small_disk: Path, download: list[str]
) -> None:
    options = ["--on-record-failure=continue"]
    recorded = rail.record(*download, tape="small/run.tape", options=options)
    assert recorded.text == f"downloaded {SIZE}\nsecond 200 6\n"
    assert recorded.status == 125
    assert "cannot write" in recorded.said
    with Tape.open(recorded.tape) as tape:
        assert tape.state == "lost"


def test_the_commands_own_failure_is_not_hidden(
    rail: Rail, small_disk: Path, download: list[str]
) -> None:
    command = ["sh", "-c", '"$@"; exit 9', "sh", *download]
    recorded = rail.record(*command, tape="small/run.tape")
    assert recorded.status == 9
    assert "cannot write" in recorded.said
