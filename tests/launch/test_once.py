"""A program run to its end within a time."""

import sys
from pathlib import Path

import pytest

from rerail.errors import RerailError
from rerail.launch.once import Said, run_once


def run(code: str, seconds: float = 20) -> Said:
    return run_once([sys.executable, "-c", code], cwd=Path.cwd(), environment={}, seconds=seconds)


def test_what_it_said_and_how_it_ended() -> None:
    found = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert found == Said(3, "out\n", "err\n")


def test_it_has_no_environment_and_no_input() -> None:
    assert (
        run("import os, sys; print(os.environ.get('HOME'), sys.stdin.read())").output == "None \n"
    )


def test_one_that_takes_too_long_is_ended_and_what_it_said_is_kept() -> None:
    found = run("import time; print('begun', flush=True); time.sleep(60)", seconds=0.5)
    assert found.status is None
    assert found.output in ("begun\n", "")


def test_one_that_is_not_there_is_an_error_for_a_person() -> None:
    with pytest.raises(RerailError):
        run_once(["/nowhere"], cwd=Path.cwd(), environment={}, seconds=1)
