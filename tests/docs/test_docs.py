"""The pages tell the truth where that can be tested: links, commands, and the README's tasks."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click
import pytest

from rerail.cli.main import program

ROOT = Path(__file__).parents[2]
ELSEWHERE = {".venv", ".bench", "node_modules", ".pytest_cache", "rerail-demo"}
PAGES = sorted(
    page for page in ROOT.rglob("*.md") if not ELSEWHERE & set(page.relative_to(ROOT).parts)
)
USER_PAGES = [page for page in PAGES if page.parent == ROOT or ROOT / "docs" in page.parents]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_CONTINUED = re.compile(r"\\\n\s*")
_OPERATORS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings: lower case, without signs, blanks as hyphens."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


def typed(page: Path) -> Iterator[str]:
    """What a person types, by the fenced blocks of a page."""
    for language, block in _FENCE.findall(page.read_text("utf-8")):
        if language in ("console", "sh", "bash"):
            for line in _CONTINUED.sub("", block).splitlines():
                if line.startswith("$ "):
                    yield line.removeprefix("$ ")


def simple_commands(line: str) -> Iterator[list[str]]:
    """The words of each command in a line of shell, variables set before it left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _OPERATORS:
            if words or not re.match(r"\w+=", word):
                words.append(word)
        else:
            yield words
            words = []


def ours(words: list[str]) -> bool:
    return words[:1] == ["rerail"] and len(words) > 1


def parse(words: list[str]) -> None:
    """Parse as the program would, without running it."""
    before = list(takewhile(lambda word: word.startswith("-"), words[1:]))
    assert set(before) <= {*options_of(program), "--help"}, f"{before} before a verb"
    if len(words) == 1 + len(before):
        return
    verb, arguments = words[1 + len(before)], words[2 + len(before) :]
    context = click.Context(program, info_name="rerail")
    command = program.get_command(context, verb)
    assert command is not None, f"there is no verb {verb}"
    own = command.make_context(verb, arguments, parent=context)
    if isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, below, rest = command.resolve_command(own, arguments)
        assert below is not None, f"{verb} has no {arguments[0]}"
        below.make_context(name, rest, parent=own)


@pytest.fixture(autouse=True)
def where_the_pages_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that name a file want it to be there."""
    (tmp_path / "me.pem").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_every_command_in_a_page_can_be_typed(page: Path) -> None:
    for line in typed(page):
        for words in filter(ours, simple_commands(line)):
            parse(words)


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_every_option_of_a_command_in_the_text_exists(page: Path) -> None:
    for span in _SPAN.findall(prose(page)):
        words = span.split()
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if not ours(words) or not verb.isalpha() or verb.isupper():
            continue
        command = program.get_command(click.Context(program), verb)
        assert command is not None, span
        if isinstance(command, click.Group) and len(words) > 2:
            command = command.get_command(click.Context(command), words[2]) or command
        known = {option for holder in (program, command) for option in options_of(holder)}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-")} <= known | {"--help"}, span


def options_of(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (name for name in parameter.opts if name.startswith("-"))


def test_a_wrong_command_would_be_noticed() -> None:
    for line in ("rerail replay --bogus T.tape", "rerail rewound T", "X=1 rerail show T --raw=3"):
        (words,) = filter(ours, simple_commands(line))
        with pytest.raises(Exception, match=r"bogus|rewound|raw"):
            parse(words)


def test_the_commands_of_a_line_are_told_apart() -> None:
    line = "A=1 rerail show T --json | jq '.a | .b' && rerail verify 'my tape' > out  # why"
    assert list(filter(ours, simple_commands(line))) == [
        ["rerail", "show", "T", "--json"],
        ["rerail", "verify", "my tape"],
    ]


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_the_tasks_of_make_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    lines = [*typed(page), *_SPAN.findall(prose(page))]
    asked = {words[1] for line in lines if (words := line.split())[:1] == ["make"] and words[1:]}
    assert asked <= targets
    if page == ROOT / "README.md":
        assert asked == {"demo", "test"}


def test_decisions_are_numbered_once_each_and_indexed() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == sorted(set(numbers))
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    assert [page.name for page in pages if f"decisions/{page.name}" not in index] == []
