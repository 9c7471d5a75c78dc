"""A progress bar on standard error, where a person looks at it; else nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rerail.cli.screen.texts import for_person

if TYPE_CHECKING:
    from rich.progress import Progress

Told = Callable[[int, int], None]


@contextmanager
def progress(what: str) -> Iterator[Told]:
    """Gives what is to be told (done, all); the bar is gone when this is left."""
    if not for_person(err=True):
        yield lambda done, all_: None
        return
    bar = _Bar(what)
    try:
        yield bar.told
    finally:
        bar.close()


class _Bar:
    """It comes with the first number: before, nobody knows how much there is to do."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown: Progress | None = None
        self._closed = False

    def told(self, done: int, all_: int) -> None:
        if self._closed:
            return
        if self._shown is None:
            self._shown = _started(self._what)
        (task,) = self._shown.task_ids
        self._shown.update(task, completed=done, total=all_)

    def close(self) -> None:
        self._closed = True
        if self._shown is not None:
            self._shown.stop()


def _started(what: str) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    shown.add_task(what, total=None)
    shown.start()
    return shown
