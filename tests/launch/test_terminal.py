"""A command under supervision has the terminal for itself: keys, size, suspending and going on."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.launch.family import descendants_of

Words = Callable[..., list[str]]

KEYS = """
    import signal, sys
    got = []
    signal.signal(signal.SIGINT, lambda *_: got.append("int"))
    print("ready", flush=True)
    sys.stdin.readline()
    print("signals:", *got, flush=True)
"""


@pytest.mark.parametrize("sandboxed", [False, True], ids=["free", "sandboxed"])
def test_the_command_sees_a_terminal_with_its_size(
    terminal: Callable[..., Any], say: Words, under_supervision: Words, sandboxed: bool
) -> None:
    program = """
        import os, sys
        print("tty", *(os.isatty(fd) for fd in range(3)), os.get_terminal_size().columns)
    """
    screen = terminal(*under_supervision(*say(program), sandboxed=sandboxed), columns=123)
    screen.expect(b"tty True True True 123")
    screen.expect(b"recorder: over 0")
    assert screen.process.wait(10) == 0


@pytest.mark.parametrize("sandboxed", [False, True], ids=["free", "sandboxed"])
def test_ctrl_c_reaches_the_command_once_and_leaves_the_recorder_running(
    terminal: Callable[..., Any], say: Words, under_supervision: Words, sandboxed: bool
) -> None:
    screen = terminal(*under_supervision(*say(KEYS), sandboxed=sandboxed))
    screen.expect(b"ready")
    screen.type(b"\x03")
    screen.expect(b"^C")
    screen.type(b"\n")
    screen.expect(b"signals: int\r\n")
    screen.expect(b"recorder: over 0")


def test_a_command_that_ctrl_c_ends_ends_the_recorder_with_130(
    terminal: Callable[..., Any], under_supervision: Words
) -> None:
    screen = terminal(*under_supervision("sh", "-c", "echo ready; exec sleep 60"))
    screen.expect(b"ready")
    screen.type(b"\x03")
    screen.expect(b"recorder: over 130")
    assert screen.process.wait(10) == 130


def test_an_interrupt_sent_to_the_recorder_of_a_raw_terminal_is_passed_on(
    terminal: Callable[..., Any], say: Words, under_supervision: Words
) -> None:
    program = """
        import signal, sys, tty
        signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
        tty.setraw(0)
        print("ready", flush=True)
        sys.stdin.read(1)
    """
    screen = terminal(*under_supervision(*say(program)))
    screen.expect(b"ready")
    os.kill(screen.process.pid, signal.SIGINT)
    screen.expect(b"interrupted")


def test_a_new_window_size_is_told_once(
    terminal: Callable[..., Any], say: Words, under_supervision: Words
) -> None:
    program = """
        import os, signal, sys
        def told(*_):
            print("columns", os.get_terminal_size().columns, flush=True)
        signal.signal(signal.SIGWINCH, told)
        print("ready", flush=True)
        sys.stdin.readline()
    """
    screen = terminal(*under_supervision(*say(program)))
    screen.expect(b"ready")
    screen.resize(77)
    screen.expect(b"columns 77")
    screen.type(b"\n")
    assert b"columns" not in screen.expect(b"recorder: over 0")


def states_below(pid: int) -> set[str]:
    """The states of all processes that descend from this one (proc(5))."""
    stats = (Path(f"/proc/{one}/stat").read_bytes() for one in descendants_of(pid))
    return {stat[stat.rindex(b")") + 2 :][:1].decode() for stat in stats}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the shell with job control")
class TestInAShell:
    """Suspended with Ctrl-Z and gone on with by `fg`, as a person does it."""

    def shell(self, terminal: Callable[..., Any], words: list[str]) -> Any:
        os.environ["RERAIL_TEST_COMMAND"] = " ".join(map(_quoted, words))
        screen = terminal("bash", "--norc", "--noprofile", "-i")
        os.environ.pop("RERAIL_TEST_COMMAND")
        screen.type(b"PS1='$ '; eval \"$RERAIL_TEST_COMMAND\"\n")
        return screen

    def test_ctrl_z_suspends_both_and_fg_goes_on(
        self,
        terminal: Callable[..., Any],
        say: Words,
        under_supervision: Words,
        eventually: Callable[..., None],
    ) -> None:
        screen = self.shell(terminal, under_supervision(*say(KEYS)))
        screen.expect(b"ready")
        screen.type(b"\x1a")
        screen.expect(b"Stopped")
        screen.expect(b"\r\n$ ")
        # The shell knows of the recorder alone. Who is still to stop may read what is typed first.
        eventually(lambda: states_below(screen.process.pid) == {"T"})
        screen.type(b"echo at the $((1+1))nd prompt\n")
        screen.expect(b"at the 2nd prompt")
        screen.type(b"fg\n")
        screen.expect(b"fg\r\n")
        screen.type(b"\n")
        screen.expect(b"signals:")
        screen.expect(b"recorder: over 0")

    def test_a_command_that_stops_itself_gives_the_shell_back(
        self, terminal: Callable[..., Any], say: Words, under_supervision: Words
    ) -> None:
        program = """
            import os, signal
            print("ready", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
            print("went on", flush=True)
        """
        screen = self.shell(terminal, under_supervision(*say(program)))
        screen.expect(b"ready")
        screen.expect(b"Stopped")
        screen.expect(b"\r\n$ ")
        screen.type(b"fg\n")
        screen.expect(b"went on")
        screen.expect(b"recorder: over 0")

    def test_an_interactive_shell_can_be_recorded(
        self, terminal: Callable[..., Any], under_supervision: Words
    ) -> None:
        inner = under_supervision("bash", "--norc", "--noprofile", "-i")
        screen = self.shell(terminal, inner)
        screen.type(b"PS1='inner$ '\n")
        screen.expect(b"\ninner$ ")
        screen.type(b"sh -c 'echo $((1+1)) sheep; exec sleep 60'\n")
        screen.expect(b"2 sheep\r\n")
        screen.type(b"\x03")
        screen.expect(b"inner$ ")
        screen.type(b"exit 5\n")
        screen.expect(b"recorder: over 5\r\n$ ")
        screen.type(b"echo back in the $((0+1))st shell\n")
        screen.expect(b"back in the 1st shell")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
