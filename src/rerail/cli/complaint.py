"""How an error is shown: one line that says what is wrong, one that says the mend."""

import click


def complain(what: str, hint: str | None) -> None:
    """One line that says what is wrong, one that says the mend; both may quote a tape."""
    from rerail.cli.texts import one_line

    click.echo(f"rerail: {one_line(what)}", err=True)
    if hint:
        click.echo(f"hint: {one_line(hint)}", err=True)
