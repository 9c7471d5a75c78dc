"""How an error is shown: one line that says what is wrong, one that says the mend."""

from contextlib import suppress

import click

from rerail.errors import UserError


def complain(what: str, hint: str | None) -> None:
    """One line that says what is wrong, one that says the mend; both may quote a tape."""
    from rerail.cli.screen.texts import one_line

    say_aside(f"rerail: {one_line(what)}")
    if hint:
        say_aside(f"hint: {one_line(hint)}")


def say_aside(text: str) -> None:
    """A line on standard error; where that is full or gone, nobody listens."""
    with suppress(OSError):
        click.echo(text, err=True)


def of_the_system(error: OSError) -> UserError:
    """What the system refused to do, where nothing better is known about it."""
    place = f"{error.filename}: " if error.filename else ""
    return UserError(
        f"{place}{error.strerror or error}", hint="`rerail --debug` shows where it happened"
    )
