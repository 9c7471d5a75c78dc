"""A group whose commands are imported only when they are called: a table of names and places."""

from collections.abc import Mapping
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Final

import click

from rerail.errors import RerailError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP: Final = frozenset({"-h", "--help"})

Table = Mapping[str, tuple[str, str]]
"""For each name where its command is, `module:attribute`, and what it does: help loads no verb."""


class Verbs(click.Group):
    """Such a group; `table` is set by whoever makes a class of it."""

    table: ClassVar[Table] = {}
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Under which titles the help lists them; without any it is one list."""
    noun = "verb"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.table))
        for title, names in (self.groups or {"Commands": tuple(self.table)}).items():
            with formatter.section(title):
                # All columns as wide as the widest: one list under several titles.
                rows = [(name.ljust(widest), self.table[name][1]) for name in names]
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from rerail.cli.examples import examples

        self.epilog = examples(ctx.command_path)
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """The names that fit, and the options; click itself would load each verb to ask it."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.table if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self.table[name][1]) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.table:
            from difflib import get_close_matches

            near = get_close_matches(name, self.table, n=1)
            path = ctx.command_path
            hint = f"did you mean `{path} {near[0]}`?" if near else f"`{path} --help` lists them"
            raise RerailError(f"there is no {self.noun} `{name}`", hint=hint)
        found, command, rest = super().resolve_command(ctx, args)
        if command is not None and _asks_for_help(rest):
            from rerail.cli.examples import examples

            command.epilog = examples(f"{ctx.command_path} {found}")
        return found, command, rest


def _asks_for_help(words: list[str]) -> bool:
    own = takewhile(lambda word: word != "--", words)
    return not HELP.isdisjoint(own)
