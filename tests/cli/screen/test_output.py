"""Standard output of a verb's own, beside a command that writes there too."""

import subprocess
import sys

PROGRAM = """
import os, subprocess, sys
from rerail.cli.screen.output import output_kept
print("before")
with output_kept({wanted}) as ours:
    subprocess.run(["echo", "the command"])
    os.write(ours, b"the report\\n")
subprocess.run(["echo", "after"])
"""


def told(*, wanted: bool) -> tuple[list[str], list[str]]:
    words = [sys.executable, "-c", PROGRAM.format(wanted=wanted)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.split("\n"), done.stderr.split("\n")


def test_where_it_is_wanted_the_commands_goes_to_standard_error() -> None:
    out, err = told(wanted=True)
    assert out == ["before", "the report", "after", ""]
    assert err == ["the command", ""]


def test_where_it_is_not_nothing_is_moved() -> None:
    out, err = told(wanted=False)
    assert sorted(out) == ["", "after", "before", "the command", "the report"]
    assert err == [""]
