"""How an error is shown: one line that says what is wrong, one that says the mend."""

import errno
from contextlib import suppress
from typing import Final

import click

from rerail.errors import UserError


def complain(what: str, hint: str | None) -> None:
    """One line that says what is wrong, one that says the mend; both may quote a tape."""
    from rerail.cli.screen.texts import one_line

    say_aside(f"rerail: {one_line(what)}")
    if hint:
        say_aside(f"hint: {one_line(hint)}")


def say_aside(text: str) -> None:
    """A line on standard error, which may quote a tape; where that is full or gone, so be it."""
    from rerail.cli.screen.texts import block

    with suppress(OSError):
        click.echo(block(text), err=True)


_MENDS: Final = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "this machine has too many files open: end what is not needed",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "your disk quota is used up: free some space",
    errno.EAGAIN: "this machine starts no more processes or threads for you (ulimit -u)",
    errno.ENOMEM: "this machine has no memory left: end what is not needed",
    errno.EROFS: "choose a folder that can be written",
    errno.EACCES: "see whose it is, and who may do that (`ls -l`)",
}


def of_the_system(error: OSError) -> UserError:
    """What the system refused to do, where nothing better is known about it."""
    place = f"{error.filename}: " if error.filename else ""
    hint = _MENDS.get(error.errno or 0, "`rerail --debug` shows where it happened")
    return UserError(f"{place}{error.strerror or error}", hint=hint)
