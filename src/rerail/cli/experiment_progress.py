"""How far an experiment is: a bar where a person looks, a line for each run elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rerail.cli.screen.texts import block, for_person

if TYPE_CHECKING:
    from rerail.experiment.measured import Run
    from rerail.experiment.schedule import Watcher


class _Quiet:
    """Says nothing."""

    def phase(self, what: str, done: int, total: int) -> None:
        pass

    def over(self, run: "Run", done: int) -> None:
        pass


class _Lines(_Quiet):
    """A line for each run, where no person looks."""

    def __init__(self) -> None:
        self._total = 0
        self._what = ""

    def phase(self, what: str, done: int, total: int) -> None:
        self._what, self._total = what, total
        click.echo(f"rerail: {what}: {done} of {total}", err=True)

    def over(self, run: "Run", done: int) -> None:
        line = f"rerail: {self._what}: {done} of {self._total}: {run.key.name} {run.outcome}"
        click.echo(block(line), err=True)


@contextmanager
def experiment_progress(quiet: bool) -> Iterator["Watcher"]:
    if quiet:
        yield _Quiet()
    elif for_person(err=True):
        with _Bar() as bar:
            yield bar
    else:
        yield _Lines()


class _Bar(_Quiet):
    """A bar, with what came of the last run."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        self._shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            Elapsed(),
            TextColumn("{task.fields[last]}", markup=False),
            console=Console(stderr=True),
        )

    def __enter__(self) -> "_Bar":
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def phase(self, what: str, done: int, total: int) -> None:
        self._task = self._shown.add_task(what, total=total, completed=done, last="")

    def over(self, run: "Run", done: int) -> None:
        last = block(f"{run.key.name} {run.outcome}")
        self._shown.update(self._task, completed=done, last=last)
