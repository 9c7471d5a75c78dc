"""A check is run to its end, its words are kept, and nothing of it is left."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.launch.aside import Aside, Said
from rerail.launch.errand import OUTPUT_SIZE, run_errand
from rerail.launch.family import arguments_of


def test_what_it_says_and_how_it_ends(tmp_path: Path) -> None:
    with Aside() as aside:
        said = aside.shell("pwd; echo $NAMED >&2; exit 3", tmp_path, {"NAMED": "x"})
        assert said == Said(3, f"{tmp_path}\nx\n".encode())
        assert aside.shell("kill -TERM $$", tmp_path, os.environ).status == 128 + 15
        assert aside.shell("no-such-program", tmp_path, os.environ).status == 127


def test_what_it_leaves_running_is_ended(tmp_path: Path) -> None:
    with Aside() as aside:
        said = aside.shell("sleep 600 & echo $!", tmp_path, os.environ)
    while arguments_of(int(said.output)):
        """It has been told, and is on its way out."""


def test_leaving_ends_what_still_runs(tmp_path: Path) -> None:
    found: list[Said] = []
    os.mkfifo(tmp_path / "begun")
    with Aside() as aside:
        line = "echo > begun; sleep 600"
        thread = threading.Thread(target=lambda: found.append(aside.shell(line, tmp_path, {})))
        thread.start()
        (tmp_path / "begun").read_bytes()
    thread.join(20)
    assert found[0].status == 128 + 9


@pytest.fixture(params=[True, False], ids=["by its descriptor", "by waiting"])
def ways_to_wait(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a descriptor for a process's end, and where there is none."""
    if not request.param:
        monkeypatch.delattr(os, "pidfd_open")
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("this system has no descriptor for a process's end")


@pytest.mark.usefixtures("ways_to_wait")
def test_a_line_has_its_time_and_all_it_started_is_ended_with_it(tmp_path: Path) -> None:
    with Aside() as aside:
        said = aside.shell("sleep 600 & echo $!; sleep 600", tmp_path, os.environ, seconds=5)
    assert said.timed_out
    assert said.status == 128 + 9
    while arguments_of(int(said.output)):
        """It has been told, and is on its way out."""


@pytest.mark.usefixtures("ways_to_wait")
def test_what_is_said_beyond_measure_is_cut_and_told(tmp_path: Path) -> None:
    with Aside() as aside:
        said = aside.shell(f"head -c {OUTPUT_SIZE + 1} /dev/zero", tmp_path, os.environ)
    assert (said.cut, said.status, len(said.output)) == (True, 0, OUTPUT_SIZE)


@pytest.mark.usefixtures("ways_to_wait")
def test_both_streams_come_in_the_order_in_which_they_were_said(tmp_path: Path) -> None:
    line = "for n in 1 2 3; do echo out $n; echo err $n >&2; done"
    with Aside() as aside:
        said = aside.shell(line, tmp_path, os.environ).output.decode()
    assert said == "".join(f"out {n}\nerr {n}\n" for n in (1, 2, 3))


def test_leaving_while_one_is_being_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Aside() as aside:

        def left_meanwhile(
            words: list[str], *, on_start: Callable[[int], None], **more: Any
        ) -> Any:
            def begun(pid: int) -> None:
                aside.__exit__(None, None, None)
                on_start(pid)

            return run_errand(words, on_start=begun, **more)

        monkeypatch.setattr("rerail.launch.aside.run_errand", left_meanwhile)
        assert aside.shell("sleep 600", tmp_path, os.environ).status == 128 + 9


WAITING = """
import os, sys
from pathlib import Path
from rerail.launch.aside import Aside
with Aside() as aside:
    program = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    aside.program([sys.executable, "-c", f"import os; os.dup2(2, 1); {program}"], os.environ,
                  Path(sys.argv[1]))
"""


def test_a_signal_that_ends_us_ends_what_we_wait_for(tmp_path: Path) -> None:
    said = tmp_path / "said"
    os.mkfifo(said)
    waiting = subprocess.Popen([sys.executable, "-c", WAITING, str(said)])
    with said.open() as words:
        pid = int(words.readline())
        waiting.terminate()
        assert waiting.wait(20) == 128 + signal.SIGTERM
    while arguments_of(pid):
        """It has been told, and is on its way out."""


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Aside():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_a_program_says_is_its_owners_alone(tmp_path: Path) -> None:
    said = tmp_path / "fork.log"
    said.write_text("from before")
    said.chmod(0o644)
    with Aside() as aside:
        status, output = aside.program(["sh", "-c", "echo secret >&2; echo out"], os.environ, said)
    assert (status, output) == (0, b"out\n")
    assert said.read_text() == "secret\n"
    assert said.stat().st_mode & 0o777 == 0o600


def test_who_comes_late_starts_nothing(tmp_path: Path) -> None:
    with Aside() as aside:
        pass
    with pytest.raises(OSError, match="cancel"):
        aside.shell("touch started", tmp_path, os.environ)
    with pytest.raises(OSError, match="cancel"):
        aside.program(["touch", str(tmp_path / "started")], os.environ, tmp_path / "log")
    assert not (tmp_path / "started").exists()
