"""docs/reference/cli.md says what the program does: no option less, none more."""

import re
from pathlib import Path

import click
import pytest

from rerail.cli.main import VERBS, program

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
CONTEXT = click.Context(program, info_name="rerail", **program.context_settings)


def command(verb: str) -> click.Command:
    found = program.get_command(CONTEXT, verb)
    assert found is not None
    return found


def context(verb: str) -> click.Context:
    return click.Context(command(verb), info_name=verb, parent=CONTEXT)


def parts(verb: str) -> list[click.Context]:
    """What of a verb takes options: itself, or each command of a group."""
    whole = context(verb)
    if not isinstance(whole.command, click.Group):
        return [whole]
    found = []
    for name in whole.command.list_commands(whole):
        part = whole.command.get_command(whole, name)
        assert part is not None
        found.append(click.Context(part, info_name=name, parent=whole))
    return found


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
    sections = [title[8:-1] for title in SECTIONS if title.startswith("`rerail ")]
    assert sections == list(VERBS)
    assert re.findall(r"^\| \[`(\w+)`\]\(#rerail-\1\)", PAGE, re.MULTILINE) == list(VERBS)
    statuses = re.findall(r"^\| `(\w+)` \|", SECTIONS["Exit statuses"], re.MULTILINE)
    assert statuses == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_options_of_a_verb_are_those_of_the_program(verb: str) -> None:
    expected = [option for part in parts(verb) for option in options(part)]
    assert documented(f"`rerail {verb}`") == expected


def test_the_options_before_a_verb_are_those_of_the_program() -> None:
    assert documented("What all verbs share") == options(CONTEXT)


@pytest.mark.parametrize("verb", VERBS)
def test_the_usage_of_a_verb_is_that_of_the_program(verb: str) -> None:
    for part in parts(verb):
        usage = re.sub(r"\s+", " ", part.get_usage()).removeprefix("Usage: ")
        assert f"\n{usage}\n" in SECTIONS[f"`rerail {verb}`"]


def test_no_option_is_mentioned_that_does_not_exist() -> None:
    known = spellings(options(CONTEXT))
    for verb in VERBS:
        known |= spellings([option for part in parts(verb) for option in options(part)])
    for span in re.findall(r"`([^`\n]+)`", PAGE):
        ours = span.partition(" -- ")[0]
        assert spellings([ours]) <= known, span


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_means(verb: str) -> None:
    for parameter in [one for part in parts(verb) for one in part.command.params]:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert parameter.help.endswith(".")
