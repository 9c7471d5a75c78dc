"""The examples at the end of each help can be typed, on a screen of 80 columns."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from rerail.cli.examples import EXAMPLES, examples
from rerail.cli.main import program
from rerail.cli.verbs import Verbs

Rerail = Callable[..., Any]
TYPED = [(path, typed) for path, shown in EXAMPLES.items() for _, typed in shown]


def paths(group: click.Group, path: str) -> Iterator[str]:
    """The group, and each command below it that is in a table."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        below = group.get_command(context, name)
        if isinstance(below, Verbs):
            yield from paths(below, f"{path} {name}")
        else:
            yield f"{path} {name}"


def test_every_verb_has_an_example_and_no_other_has() -> None:
    assert set(EXAMPLES) == set(paths(program, "rerail"))


def test_a_command_without_examples_ends_as_it_would() -> None:
    assert examples("rerail nothing") == ""


@pytest.mark.parametrize(("path", "typed"), TYPED, ids=[typed for _, typed in TYPED])
def test_an_example_can_be_typed(
    path: str, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(typed)
    assert words[0] == "rerail"
    if path != "rerail":
        assert typed.startswith(f"{path}")
    command, below = program.resolve_command(click.Context(program), words[1:])[1:]
    while isinstance(command, click.Group):
        command, below = command.resolve_command(click.Context(command), below)[1:]
    assert command is not None
    command.make_context("verb", below, parent=click.Context(program))


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_help_of_a_verb_ends_with_its_examples(path: str, rerail: Rerail) -> None:
    shown = rerail(*path.split()[1:], "--help")
    assert shown.status == 0
    lines = [line.strip() for line in shown.lines]
    for about, typed in EXAMPLES[path]:
        assert lines[lines.index(f"# {about}") + 1] == typed
    assert max(map(len, shown.lines)) <= 80


def test_what_stands_behind_the_dashes_asks_for_no_help(rerail: Rerail, tmp_path: Path) -> None:
    done = rerail("replay", tmp_path / "none.tape", "--", "agent", "--help")
    done.assert_complaint(2, "no such file")
