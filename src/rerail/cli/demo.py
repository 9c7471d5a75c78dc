"""`rerail demo`: the main job, end to end, on a model of its own."""

import importlib.util
from pathlib import Path
from typing import Literal

import click

from rerail.errors import UserError


class DemoNotInstalled(UserError):
    """The demo's agent needs a package that rerail itself does not."""


@click.command()
@click.option(
    "--model",
    type=click.Choice(["simulated", "local"]),
    default="simulated",
    show_default=True,
    help="A simulated model, or a small real one on this machine.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="rerail-demo",
    show_default=True,
    help="Where the agent and the tapes go.",
)
def demo(model: Literal["simulated", "local"], folder: Path) -> int:
    """Record a small real agent, replay it, see a change diverge; trace, rewind, keep a test.

    Everything is run on this machine, and each command is shown, so that you can type it yourself.
    """
    if importlib.util.find_spec("openai") is None:
        raise DemoNotInstalled(
            "the demo's agent uses the `openai` package, which is not installed",
            hint="pip install '.[demo]', in a checkout of rerail",
        )
    from rerail.testing.demo.tour import Tour

    return 0 if Tour(folder, model, _show).walk() else 1


def _show(line: str) -> None:
    """What can be typed stands out where a person looks."""
    from rerail.cli.screen.texts import say, styled

    say(styled(line, bold=True) if "   $ " in line else line)
