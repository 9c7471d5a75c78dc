"""What a person sees on a terminal, and what is different in a pipe."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.tapes import Recording

MakeTape = Callable[..., Recording]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(*arguments: object, **environment: str) -> str:
    """Run the command line with a terminal 120 columns wide; returns all that came out."""
    ours, theirs = pty.openpty()
    given = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "rerail.cli", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=given,
    ):
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], 20)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_person_sees_columns_under_headers(simple_tape: Path) -> None:
    shown = ESCAPE.sub("", on_terminal("show", simple_tape))
    assert "state      finished\n" in shown
    header = next(line for line in shown.splitlines() if "outcome" in line)
    assert header.split() == [
        "step", "start", "method", "url", "outcome", "sent", "got", "chunks", "took"
    ]  # fmt: skip
    assert re.search(r"\nr2  s1 +\+7 ms +POST +https://api.openai.com/v1", shown)
    assert "\t" not in shown


def test_a_narrow_terminal_leaves_out_what_can_be_spared(simple_tape: Path) -> None:
    shown = ESCAPE.sub("", on_terminal("show", simple_tape, COLUMNS="80"))
    header = next(line for line in shown.splitlines() if "outcome" in line)
    assert header.split() == ["step", "start", "method", "url", "outcome", "got", "took"]
    assert re.search(r"\nr2  s1 +\+7 ms +POST +api.openai.com/v1", shown)
    assert max(map(len, shown[shown.index(header) :].splitlines())) <= 80


def test_there_is_colour_on_a_terminal_unless_it_is_not_wanted(simple_tape: Path) -> None:
    assert "\x1b[1m" in on_terminal("show", simple_tape)
    assert "\x1b" not in on_terminal("show", simple_tape, NO_COLOR="1")
    assert "\x1b" not in on_terminal("show", simple_tape, "r1", NO_COLOR="1")
    assert "\x1b" not in on_terminal("show", simple_tape, "r1", TERM="dumb")


def test_failures_are_red(simple_tape: Path) -> None:
    red = [line for line in on_terminal("show", simple_tape).splitlines() if "\x1b[31m" in line]
    assert red and all("r1" not in ESCAPE.sub("", line) for line in red)
    assert "r3" in ESCAPE.sub("", red[0])


def test_a_url_gives_way_where_the_terminal_is_narrow(make_tape: MakeTape) -> None:
    tape = make_tape()
    tape.request(1, target="/" + "x" * 500)
    tape.reply(1, [b"x"])
    tape.end()
    shown = ESCAPE.sub("", on_terminal("show", tape.path))
    row = next(line for line in shown.splitlines() if line.startswith("r1"))
    assert len(row) <= 120 and "…" in row and row.rstrip().endswith("3 ms")


def test_markup_and_control_characters_are_only_text(make_tape: MakeTape) -> None:
    tape = make_tape(argv=["[red]\x1b]0;owned\x07"])
    tape.request(1, target="/[bold]:smile:\x1b[2J")
    tape.reply(1, [b"\x1b[2J\x9b"])
    tape.end()
    for view in ([], ["--events"], ["r1"], ["e1"]):
        shown = on_terminal("show", tape.path, *view, NO_COLOR="1")
        assert "\x1b" not in shown and "\x07" not in shown
    assert "/[bold]:smile:\\x1b[2J" in on_terminal("show", tape.path, "--events")


@pytest.fixture
def long_tape(make_tape: MakeTape) -> Path:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [b"".join(b"line %d\n" % number for number in range(1000))])
    tape.request(2)
    tape.reply(2, [b"y" * 5000])
    tape.end()
    return tape.path


def test_long_bodies_are_cut_for_a_person_with_the_way_to_see_all(long_tape: Path) -> None:
    shown = on_terminal("show", long_tape, "r1")
    assert "line 399\n" in shown and "line 400\n" not in shown
    assert f"(more lines follow; `rerail show {long_tape} r1 --raw` writes all)" in shown
    assert "… (4 000 more characters)" in on_terminal("show", long_tape, "r2")


def test_in_a_pipe_nothing_is_cut(long_tape: Path) -> None:
    command = [sys.executable, "-m", "rerail.cli", "show", str(long_tape)]
    whole = subprocess.run([*command, "r1"], capture_output=True, text=True, check=True)
    assert "line 999\n" in whole.stdout
    whole = subprocess.run([*command, "r2"], capture_output=True, text=True, check=True)
    assert "y" * 5000 in whole.stdout


def test_raw_bytes_that_could_steer_a_terminal_are_not_written_to_it(
    make_tape: MakeTape, simple_tape: Path
) -> None:
    tape = make_tape("evil.tape")
    tape.request(1)
    tape.reply(1, [b"hello \x1b]0;owned\x07"])
    tape.request(2)
    tape.reply(2, ["plain ü\r\n".encode()])
    tape.end()
    refused = on_terminal("show", tape.path, "r1", "--raw")
    assert "\x1b" not in refused
    assert "these bytes are not plain text, and standard output is a terminal\nhint: " in refused
    assert "plain ü" in on_terminal("show", tape.path, "r2", "--raw")
    assert "not plain text" in on_terminal("show", simple_tape, "r3", "--raw", "--request")


def test_a_reader_that_goes_away_is_no_error(simple_tape: Path) -> None:
    command = f"{sys.executable} -m rerail.cli show {simple_tape} --events | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("e1\t")
    assert done.stderr == ""
