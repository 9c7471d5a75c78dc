"""A progress bar on standard error, where a person looks at it; else nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rerail.cli.texts import for_person

Told = Callable[[int, int], None]


@contextmanager
def progress(what: str) -> Iterator[Told]:
    """Gives what is to be told (done, all); the bar is gone when this is left."""
    if not for_person(err=True):
        yield lambda done, all_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what)
        yield lambda done, all_: shown.update(task, completed=done, total=all_)
