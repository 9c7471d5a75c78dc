"""A report on standard error: safe to print, and coloured where that helps to read it.

It knows how lines of a report begin, and not what made them.
"""

import re
from typing import Final

import click

from rerail.cli.screen.texts import block, may_style

_STYLES: Final = (
    (re.compile(r"^(?:rerail: )?green: .*", re.MULTILINE), "green", True),
    (re.compile(r"^(?:rerail: )?(?:not green:|did not come to) ?.*", re.MULTILINE), "red", True),
    (re.compile(r"^rerail: went back .*", re.MULTILINE), None, True),
    (re.compile(r"\[-.*?-\]"), "red", False),
    (re.compile(r"\{\+.*?\+\}"), "green", False),
    (re.compile(r"(?<=^  )rerail .*", re.MULTILINE), "cyan", False),
)
"""The verdict, what was recorded and what is asked now, and what to type next."""


def tell(report: str) -> None:
    """Print a report on standard error."""
    text = block(f"rerail: {report.rstrip()}")
    if may_style(err=True):
        text = _coloured(text)
    click.echo(text, err=True)


def _coloured(text: str) -> str:
    for pattern, colour, bold in _STYLES:

        def drawn(found: re.Match[str], fg: str | None = colour, bold: bool = bold) -> str:
            return click.style(found[0], fg=fg, bold=bold or None)

        text = pattern.sub(drawn, text)
    return text
