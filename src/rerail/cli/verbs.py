"""A group whose commands are imported only when they are called: a table of names and places."""

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click

from rerail.errors import RerailError

Table = Mapping[str, tuple[str, str]]
"""For each name where its command is, `module:attribute`, and what it does: help loads no verb."""


class Verbs(click.Group):
    """Such a group; `table` is set by whoever makes a class of it."""

    table: ClassVar[Table] = {}
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])

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
        return super().resolve_command(ctx, args)
