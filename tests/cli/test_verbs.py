"""The table of verbs: how the help lists them, and what a shell is told of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rerail.cli.main import GROUPS, VERBS

Rerail = Callable[..., Any]
RERAIL = Path(sys.executable).parent / "rerail"


def asked(*words: str, shell: str = "bash") -> list[str]:
    """What a shell is told when Tab is pressed behind these words; the last may be empty."""
    asking: Mapping[str, str] = {
        "_RERAIL_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["rerail", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [RERAIL], env={**os.environ, **asking}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_every_verb_stands_under_one_title() -> None:
    listed = [verb for verbs in GROUPS.values() for verb in verbs]
    assert sorted(listed) == sorted(VERBS)


def test_the_titles_are_in_the_help_and_the_columns_are_one(rerail: Rerail) -> None:
    lines = rerail("--help").lines
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == list(GROUPS)
    texts = {
        line.index(VERBS[verb][1]) for verb in VERBS for line in lines if VERBS[verb][1] in line
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("rew",), ["plain,rewind"]),
        (("trace", "t"), ["plain,timeline"]),
        (("replay", "--on"), ["plain,--on-divergence"]),
        (("replay", "--on-divergence", ""), ["plain,stop", "plain,follow", "plain,live"]),
        (("show", ""), ["file,"]),
    ],
)
def test_a_shell_completes(words: tuple[str, ...], told: list[str]) -> None:
    assert asked(*words) == told


def test_a_shell_is_told_all_verbs_and_none_is_loaded_for_it() -> None:
    looking = (
        "import sys; from rerail.cli.main import program; import click;"
        "names = [item.value for item in program.shell_complete(click.Context(program), '')];"
        f"assert names[:{len(VERBS)}] == {list(VERBS)!r}, names;"
        f"loaded = {[place.partition(':')[0] for place, _ in VERBS.values()]!r};"
        "assert not [name for name in loaded if name in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", looking], check=True)
