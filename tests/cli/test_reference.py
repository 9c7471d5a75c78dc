"""docs/reference/cli.md says what the program does: no option less, none more."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rerail.cli.main import VERBS, program

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^##+ (.+?)\n(.*?)(?=^##+ |\Z)", PAGE, re.DOTALL | re.MULTILINE))
"""Of a verb that is a group, each of its steps has a section of its own, one level below."""
CONTEXT = click.Context(program, info_name="rerail", **program.context_settings)


def command(verb: str) -> click.Command:
    found = program.get_command(CONTEXT, verb)
    assert found is not None
    return found


def context(verb: str) -> click.Context:
    return click.Context(command(verb), info_name=verb, parent=CONTEXT)


def every_context() -> Iterator[click.Context]:
    """Every verb, and of a group every verb below it."""
    for verb in VERBS:
        own = context(verb)
        yield own
        if isinstance(own.command, click.Group):
            for name in own.command.list_commands(own):
                found = own.command.get_command(own, name)
                assert found is not None
                yield click.Context(found, info_name=name, parent=own)


def options(context: click.Context) -> list[str]:
    """The options as the help has them: `-o, --output TAPE`."""
    records = [
        parameter.get_help_record(context)
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
    ]
    return [*(record[0] for record in records if record), "-h, --help"]


def documented(section: str) -> list[str]:
    """The first column of the tables in a section, where it is an option."""
    cells = re.findall(r"^\| `(-.+?)` \|", SECTIONS[section], re.MULTILINE)
    return [cell.replace("\\|", "|") for cell in cells]


def spellings(texts: list[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)}


def test_every_verb_has_its_section_and_its_row_and_there_are_no_others() -> None:
    titles = [title[8:-1] for title in SECTIONS if title.startswith("`rerail ")]
    sections = [title for title in titles if " " not in title]
    assert sections == list(VERBS)
    assert re.findall(r"^\| \[`(\w+)`\]\(#rerail-\1\)", PAGE, re.MULTILINE) == list(VERBS)
    statuses = re.findall(r"^\| `(\w+)` \|", SECTIONS["Exit statuses"], re.MULTILINE)
    assert statuses == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_options_of_a_verb_are_those_of_the_program(verb: str) -> None:
    assert documented(f"`rerail {verb}`") == options(context(verb))


def test_the_options_before_a_verb_are_those_of_the_program() -> None:
    assert documented("What all verbs share") == options(CONTEXT)


@pytest.mark.parametrize("verb", VERBS)
def test_the_usage_of_a_verb_is_that_of_the_program(verb: str) -> None:
    usage = re.sub(r"\s+", " ", context(verb).get_usage()).removeprefix("Usage: ")
    assert f"\n{usage}\n" in SECTIONS[f"`rerail {verb}`"]


def test_every_part_of_a_group_has_its_section() -> None:
    for own in every_context():
        words = own.command_path.split()[1:]
        if len(words) < 2:
            continue
        section = f"`rerail {' '.join(words)}`"
        assert documented(section) == options(own)
        usage = re.sub(r"\s+", " ", own.get_usage()).removeprefix("Usage: ")
        assert f"\n{usage}\n" in SECTIONS[section]
        assert f"](#rerail-{'-'.join(words)})" in SECTIONS[f"`rerail {words[0]}`"]


def test_no_option_is_mentioned_that_does_not_exist() -> None:
    known = spellings(options(CONTEXT))
    for own in every_context():
        known |= spellings(options(own))
    for span in re.findall(r"`([^`\n]+)`", PAGE):
        ours = span.partition(" -- ")[0]
        assert spellings([ours]) <= known, span


def test_every_option_says_what_it_means() -> None:
    for own in every_context():
        for parameter in own.command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (own.command_path, parameter.name)
                assert parameter.help.endswith("."), (own.command_path, parameter.name)
