"""A program on a terminal does not notice that it is recorded or replayed."""

from collections.abc import Callable

import pytest

from rerail.tape.reader import Tape
from rerail.testing.origin import Origin
from tests.journeys.rail import Rail
from tests.journeys.terminal import Terminal

pytestmark = pytest.mark.journey

HOST = "api.example.com"
Start = Callable[..., Origin]


def sit_before(rail: Rail, *words: str) -> int:
    """Use `on_terminal.py`, run by these words, as a person would; gives the exit status."""
    with Terminal(
        words, folder=rail.folder, environment=rail.environment, rows=33, columns=101
    ) as terminal:
        assert b"tty [True, True, True]\r\nsize 101 33\r\nforeground True" in terminal.until(
            b"secret word: "
        )
        terminal.resize(40, 120)
        terminal.type(b"swordfish\r")
        # A password is not echoed, a line is.
        assert b"swordfish\r\nword" not in terminal.until(b"word swordfish\r\n")
        terminal.until(b"a line: ")
        terminal.type(b"hello\r")
        assert b"hello\r\nline hello" in terminal.until(b"resized 120 40\r\n")
        terminal.until(b"waiting\r\n")
        terminal.type(b"\x03")
        terminal.until(b"interrupted\r\n")
        return terminal.end()


def test_a_terminal_program_recorded_and_replayed(rail: Rail, start_playground: Start) -> None:
    rail.resolve(HOST, start_playground(HOST))
    program = rail.python("on_terminal.py", f"https://{HOST}/page")
    record = rail.rerail("record", "-o", "run.tape", *rail.names, "--", *program)
    assert sit_before(rail, *record) == 7
    with Tape.open(rail.folder / "run.tape") as tape:
        assert tape.state == "finished"
        assert tape.ended is not None and (tape.ended.status, tape.ended.signal) == (7, 0)
    rail.stop_origins()
    assert sit_before(rail, *rail.rerail("replay", "run.tape")) == 0
    assert rail.reached == 0


def test_ctrl_c_ends_a_command_that_does_not_catch_it(rail: Rail) -> None:
    command = rail.rerail("record", "-o", "run.tape", "--", "sh", "-c", "echo ready; exec sleep 60")
    with Terminal(command, folder=rail.folder, environment=rail.environment) as terminal:
        terminal.until(b"ready\r\n")
        terminal.type(b"\x03")
        assert terminal.end() == 130
        assert b"kept run.tape" in terminal.seen
    with Tape.open(rail.folder / "run.tape") as tape:
        assert tape.ended is not None and tape.ended.signal == 2


def test_stty_sees_the_size_of_the_terminal(rail: Rail) -> None:
    command = rail.rerail("record", "-o", "run.tape", "--", "stty", "size")
    with Terminal(
        command, folder=rail.folder, environment=rail.environment, rows=21, columns=77
    ) as terminal:
        assert terminal.end() == 0
        assert b"21 77\r\n" in terminal.seen
