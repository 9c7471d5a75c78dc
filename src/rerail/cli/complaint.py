"""How an error is shown: one line that says what is wrong, one that says the mend."""

import click


def complain(what: str, hint: str | None) -> None:
    """One line that says what is wrong, one that says the mend."""
    click.echo(f"rerail: {what}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
