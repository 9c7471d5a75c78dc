"""`rerail trace verify`: whether the records of a case belong together."""

from dataclasses import asdict
from pathlib import Path

import click

from rerail.cli.screen.texts import json_text, one_line, say, styled
from rerail.cli.trace.shared import case_argument, json_option, opened, places
from rerail.trace.investigation import look
from rerail.trace.link import Link


@click.command()
@case_argument
@json_option
def verify(case: Path, as_json: bool) -> int:
    """Check six links between the records of a case. 0 none is broken, 1 one is.

    Each holds, is broken, or cannot be checked, because a record is missing. While a link is
    broken, what the agent thought is not worth reading.
    """
    with opened(case) as (_, sources):
        links = look(sources).links
    if as_json:
        say(json_text([asdict(link) for link in links]))
    else:
        for link in links:
            _print(link)
    return int(any(link.standing == "broken" for link in links))


def _print(link: Link) -> None:
    colours = {"holds": "green", "broken": "red", "cannot be checked": "yellow"}
    standing = styled(link.standing, fg=colours[link.standing], bold=link.standing == "broken")
    say(one_line(f"{link.number}. {link.question}"))
    because = ", because " if link.standing == "cannot be checked" else ": "
    say(f"   {standing}{because}" + one_line(f"{link.because}{places(link.evidence)}"))
