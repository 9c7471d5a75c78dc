"""Files that are no tape, or no whole one: one line and one hint, and never a traceback."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.tape import form, records
from rerail.testing.tapes import Recording

Rerail = Callable[..., Any]
MakeTape = Callable[..., Recording]

VIEWS = {
    "show": ["show", "TAPE"],
    "show --json": ["show", "TAPE", "--json"],
    "show --events": ["show", "TAPE", "--events", "--json"],
    "show --follow": ["show", "TAPE", "--follow"],
    "show r1": ["show", "TAPE", "r1"],
    "show r1 --raw": ["show", "TAPE", "r1", "--raw"],
    "verify": ["verify", "TAPE"],
    "verify --json": ["verify", "TAPE", "--json"],
    "replay": ["replay", "TAPE"],
}
EVENT_STREAM = "Content-Type: text/event-stream\r\n"
FLIPS = 50


def arguments(view: str, tape: Path) -> list[str]:
    return [str(tape) if word == "TAPE" else word for word in VIEWS[view]]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("not a tape\n" * 100)


def short(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\x10\x00")


def zeros(path: Path) -> None:
    path.write_bytes(bytes(8192))


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (line TEXT)")
    connection.close()


def blank_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE x (y)")
        connection.execute("DROP TABLE x")
    connection.close()


def empty_tape(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA application_id = {form.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {form.VERSION}")
        for table in form.TABLES:
            connection.execute(table)
    connection.close()


def future(path: Path) -> None:
    empty_tape(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {form.VERSION + 1}")
    connection.close()


def stranger_in_a_tapes_clothes(path: Path) -> None:
    foreign(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA application_id = {form.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {form.VERSION}")
    connection.close()


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def missing(path: Path) -> None:
    """Nothing is there."""


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("make", "what", "hint"),
    [
        (empty, "the file is empty", "record again"),
        (text, "it is not a tape", "`rerail record` has written"),
        (short, "only 18 bytes of it are left", "another copy"),
        (zeros, "it is not a tape", "`rerail record` has written"),
        (foreign, "it is an SQLite database, but not a tape", "`rerail record` has written"),
        (blank_database, "nothing has been recorded on it", "record again"),
        (empty_tape, "nothing has been recorded on it", "record again"),
        (future, f"its format is version {form.VERSION + 1}", "update rerail"),
        (stranger_in_a_tapes_clothes, "its tables are not those of a tape", ""),
        (folder, "it is a folder", "name a .tape file inside it"),
        (pipe, "it is not a file", "name a .tape file"),
        (missing, "no such file", "ls runs/"),
    ],
)
def test_what_is_no_tape_is_refused_with_a_line_and_a_hint(
    tmp_path: Path, rerail: Rerail, view: str, make: Callable[[Path], None], what: str, hint: str
) -> None:
    path = tmp_path / "bad.tape"
    make(path)
    before = sorted(tmp_path.iterdir())
    rerail(*arguments(view, path)).assert_complaint(2, what, hint)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("make", [empty, text, short, zeros, foreign, future, folder, missing])
def test_nothing_is_made_of_what_is_no_tape(
    tmp_path: Path, rerail: Rerail, make: Callable[[Path], None]
) -> None:
    path, new = tmp_path / "bad.tape", tmp_path / "new.tape"
    make(path)
    rerail("verify", path, "--repair", new).assert_complaint(2, "")
    assert not new.exists()


UNPRIVILEGED = """
import os, sys
import rerail.cli.show, rerail.cli.verify, rerail.cli.replay, rerail.playback.session
import rerail.sandbox.choose
from rerail.cli.main import run
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run(sys.argv[1:]))
"""


def test_a_command_without_its_dashes_is_told_where_it_goes(
    rerail: Rerail, simple_tape: Path
) -> None:
    told = rerail("replay", str(simple_tape), "python3", "agent.py")
    told.assert_complaint(2, "unexpected", "`rerail replay … -- COMMAND`")


def test_a_report_that_cannot_be_written_is_said_before_anything_runs(
    rerail: Rerail, simple_tape: Path, tmp_path: Path
) -> None:
    command = ["--", "touch", str(tmp_path / "ran")]
    for place, why in ((tmp_path, "is a folder"), (tmp_path / "no" / "file", "not there")):
        told = rerail("replay", simple_tape, "--report", place, *command)
        told.assert_complaint(2, why, "--report")
    assert not (tmp_path / "ran").exists()


def test_an_option_without_its_word_has_a_hint_too(rerail: Rerail, simple_tape: Path) -> None:
    told = rerail("verify", simple_tape, "--repair")
    told.assert_complaint(2, "--repair", "`rerail verify --help`")


@pytest.mark.parametrize("view", ["show", "verify", "replay"])
def test_a_tape_may_have_a_name_that_is_no_text(
    rerail: Rerail, simple_tape: Path, view: str
) -> None:
    tape = Path(os.fsdecode(os.fsencode(simple_tape.parent) + b"/n\xff.tape"))
    shutil.copyfile(simple_tape, tape)
    told = rerail(*arguments(view, tape))
    assert "cannot open" not in told.err


@pytest.mark.parametrize("view", VIEWS)
def test_a_tape_that_may_not_be_read_is_refused(simple_tape: Path, view: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # which others can reach, unlike `tmp_path`
        Path(folder).chmod(0o755)
        tape = Path(folder) / "run.tape"
        shutil.copy(simple_tape, tape)
        tape.chmod(0)
        words = [sys.executable, "-c", UNPRIVILEGED, *arguments(view, tape)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first == f"rerail: cannot open tape {tape}: permission denied"
    assert second.startswith("hint: a tape is readable by its owner alone")


# Tapes that were tapes once.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tape with all sorts of things on it, as bytes."""
    tape = Recording.begin(tmp_path_factory.mktemp("whole") / "whole.tape")
    for exchange in range(1, 101):
        tape.chat(exchange, f"turn {exchange} of the conversation " * exchange)
        pieces = [b"data: %d\n\n" % piece for piece in range(exchange % 7)]
        tape.reply(exchange, pieces, headers=EVENT_STREAM)
    tape.request(101, target="/ws", headers="Upgrade: websocket\r\n")
    tape.reply_head(101, status="101 Switching Protocols")
    tape.event(records.WsOpened, exchange_id=101)
    tape.message(101, "agent", b"hello" * 100)
    tape.event(records.WsClosed, exchange_id=101, sender="agent", code=1000)
    tape.request(102, random.Random(1).randbytes(30_000), method="PUT")
    tape.reply(102, [b"x"])
    tape.end()
    return tape.path.read_bytes()


def assert_never_a_traceback(rerail: Rerail, tape: Path) -> int:
    """Look at a tape in every way; returns what `verify` says of it."""
    verdict = rerail("verify", tape)
    views = (["show", tape], ["show", tape, "--events"], ["show", tape, "r101", "--json"],
             ["show", tape, "r7"], ["show", tape, "r102", "--raw", "--request"],
             ["show", tape, "e300"], ["verify", tape, "--json"])  # fmt: skip
    for result in (verdict, *(rerail(*view) for view in views)):
        assert result.status in (0, 1, 2)
        if result.status == 2:
            result.assert_complaint(2, "")
    return int(verdict.status)


def test_an_event_with_a_number_far_off_keeps_nobody_busy(
    tmp_path: Path, rerail: Rerail, whole: bytes
) -> None:
    tape = tmp_path / "far.tape"
    tape.write_bytes(whole)
    with sqlite3.connect(tape) as connection:
        connection.execute("INSERT INTO event VALUES (?, 5, x'00')", (1 << 62,))
    connection.close()
    assert assert_never_a_traceback(rerail, tape) == 1
    assert "one has the number 4611686018427387904" in rerail("verify", tape).out
    saved = rerail("verify", tape, "--repair", tmp_path / "saved.tape")
    assert (saved.status, saved.err) == (0, "")
    assert rerail("verify", tmp_path / "saved.tape").status == 0


@pytest.mark.parametrize("eighths", range(1, 8))
def test_a_truncated_tape_is_unreadable_or_not_intact(
    tmp_path: Path, rerail: Rerail, whole: bytes, eighths: int
) -> None:
    tape = tmp_path / "cut.tape"
    tape.write_bytes(whole[: len(whole) * eighths // 8])
    assert assert_never_a_traceback(rerail, tape) in (1, 2)


@pytest.mark.parametrize("lost", [1, 100, 1024, 4096])
def test_a_tape_that_lost_its_last_bytes_is_unreadable_or_not_intact(
    tmp_path: Path, rerail: Rerail, whole: bytes, lost: int
) -> None:
    tape = tmp_path / "cut.tape"
    tape.write_bytes(whole[:-lost])
    assert assert_never_a_traceback(rerail, tape) in (1, 2)


@pytest.mark.parametrize("part", range(5))
def test_a_flipped_bit_is_told_and_never_a_traceback(
    tmp_path: Path, rerail: Rerail, whole: bytes, part: int
) -> None:
    tape, places = tmp_path / "flipped.tape", random.Random(part)
    for _ in range(FLIPS // 5):
        place, bit = places.randrange(len(whole)), places.randrange(8)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        tape.write_bytes(flipped)
        status = assert_never_a_traceback(rerail, tape)
        assert status != 0 or says_the_same(rerail, tape, whole), (place, bit)


def says_the_same(rerail: Rerail, tape: Path, whole: bytes) -> bool:
    """Whether nothing that a tape says was changed: some bytes of the file say nothing."""
    original = tape.with_name("whole.tape")
    original.write_bytes(whole)
    pages = [rerail("show", path, "--json").json | {"tape": ""} for path in (tape, original)]
    events = [rerail("show", path, "--events", "--json").out for path in (tape, original)]
    return pages[0] == pages[1] and events[0] == events[1]
