"""`rerail experiment`: failed runs rewound, beside starting over, and the receipt of it."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from rerail.cli.experiment_progress import experiment_progress
from rerail.cli.screen.texts import block, quantity, say
from rerail.errors import UsageProblem

if TYPE_CHECKING:
    from rerail.experiment.contract import Model
    from rerail.experiment.model import Asker
    from rerail.experiment.receipt import Receipt

FOLDER: Final = Path("experiments")
FORMS: Final = ("markdown", "html", "json")
NO_KEY: Final = "none"
"""What stands where a key would: services that need none often want the header all the same."""

_SHOWN: Final = 20


class InOrder(click.Group):
    """Lists its commands as they are used, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder)
def experiment() -> None:
    """Go back into failed runs of a durable agent, start over beside it, and count.

    `run` carries out an experiment that a file describes, `report` tells what came of it.
    """


@experiment.command(short_help="Carry out an experiment, or go on with it.")
@click.argument("file", type=click.Path(path_type=Path), metavar="EXP.YAML")
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where it all goes, or is gone on with; by default experiments/NAME.",
)
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 64),
    help="So many runs at a time, whatever the file says.",
)
@click.option("--json", "as_json", is_flag=True, help="The receipt as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on the way, only at the end.")
def run(file: Path, folder: Path | None, parallel: int | None, as_json: bool, quiet: bool) -> int:
    """Carry out the experiment in EXP.YAML, or go on with it: no run is done twice.

    First runs go on until enough have failed; then each failure is gone back into, and started
    over, in every arm. All of it is on tapes. The exit status is 0 once the receipt is complete.
    """
    from msgspec.structs import replace

    from rerail.experiment.conduct import conduct
    from rerail.experiment.contract import load
    from rerail.experiment.kinds import open_tasks
    from rerail.experiment.receipt import to_json

    contract = load(file)
    if parallel is not None:
        contract = replace(contract, parallel=parallel)
    folder = folder or FOLDER / _slug(contract.name)
    stop = threading.Event()
    with ExitStack() as stack:
        tasks = stack.enter_context(
            open_tasks(contract.tasks, environment=os.environ, beside=Path.cwd())
        )
        served = stack.enter_context(_served(contract.model))
        stack.enter_context(_stopping(stop))
        watcher = stack.enter_context(experiment_progress(quiet))
        receipt = conduct(folder, contract, tasks, _asker(served, stop), watcher, stop)
    if as_json:
        say(to_json(receipt).decode(), end="")
    _tell(receipt, folder)
    return 0 if receipt.complete else 1


@experiment.command(short_help="Print its receipt, or compute it again.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--recompute",
    is_flag=True,
    help="Compute every number from the tapes again, judge again, and say what differs.",
)
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default="markdown",
    help="What is printed; Markdown by default.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --form json.")
def report(folder: Path, recompute: bool, form: str, as_json: bool) -> int:
    """Print the receipt of the experiment in DIR.

    With --recompute it is the receipt that the tapes make now, and the exit status is 1 where
    anything on it differs from the one that was written.
    """
    from rerail.experiment import pages
    from rerail.experiment.conduct import read_receipt
    from rerail.experiment.receipt import to_json

    receipt, differing = _recomputed(folder) if recompute else (read_receipt(folder), [])
    made: dict[str, Callable[[Receipt], str]] = {
        "markdown": pages.markdown,
        "html": pages.html,
        "json": lambda one: to_json(one).decode(),
    }
    say(made["json" if as_json else form](receipt), end="")
    if recompute:
        _tell_differences(differing, len(receipt.runs))
    return 1 if differing else 0


def _recomputed(folder: Path) -> tuple["Receipt", list[str]]:
    from rerail.experiment.conduct import read_plan, recompute
    from rerail.experiment.kinds import open_tasks

    names = [task.name for task in read_plan(folder).tasks]
    with open_tasks(names, environment=os.environ, beside=Path.cwd()) as tasks:
        return recompute(folder, tasks)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split()) or "unnamed"


def _asker(model: "Model", stop: threading.Event) -> "Asker":
    from rerail.cli.origins import reach
    from rerail.experiment.model import Asker

    key = os.environ.get(model.key, "") if model.key else NO_KEY
    if not key:
        raise UsageProblem(
            f"the experiment's key is to be in {model.key}, which is not set",
            hint=f"export {model.key}=…, or name another variable in `model.key`",
        )
    upstream = reach(os.environ, overrides={})
    return Asker(model, key=key, upstream=upstream, pause=partial(_wait, stop))


def _wait(stop: threading.Event, seconds: float) -> None:
    from rerail.experiment.schedule import Stopped

    if stop.wait(seconds):
        raise Stopped


@contextmanager
def _served(model: "Model") -> Iterator["Model"]:
    """The model as it is to be asked: rerail's own is served as long as the block lasts."""
    from msgspec.structs import replace

    if model.serve == "simulated":
        from rerail.testing.model import MODEL_NAME, SimulatedModel
        from rerail.testing.repairer import Repairer

        with SimulatedModel(Repairer(), seed=0, keep=0) as simulated:
            yield replace(model, url=f"{simulated.url}/v1", name=MODEL_NAME, key="")
    elif model.serve == "local":
        from rerail.testing.local_model import MODEL_NAME, LocalModel

        # One half of the machine thinks, the other half acts: else both wait for each other.
        with LocalModel(threads=max(1, (os.cpu_count() or 1) // 2)) as local:
            yield replace(model, url=f"{local.url}/v1", name=MODEL_NAME, key="")
    else:
        yield model


@contextmanager
def _stopping(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C once: runs under way end at their next turn; twice: at once."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stop.set()
        click.echo("rerail: stopping after the turns under way; Ctrl-C again: at once", err=True)

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _tell(receipt: "Receipt", folder: Path) -> None:
    from rerail.experiment.telling import used_up

    lines = [receipt.model]
    for arm in receipt.arms:
        low, high = arm.all.wilson.low, arm.all.wilson.high
        lines.append(
            f"{arm.arm}: {arm.all.fixed} of {arm.all.runs} fixed "
            f"({100 * low:.0f} to {100 * high:.0f} %)"
        )
    if used_up(receipt):
        lines.append(used_up(receipt))
    lines.append(f"{len(receipt.runs)} runs, receipt in {folder}/receipt.md, .html and .json")
    click.echo(block("\n".join(f"rerail: {line}" for line in lines)), err=True)


def _tell_differences(differing: list[str], runs: int) -> None:
    if not differing:
        click.echo(f"rerail: recomputed from {runs} tapes: every number is equal", err=True)
        return
    click.echo(f"rerail: recomputed: {quantity(len(differing), 'difference')}", err=True)
    for line in differing[:_SHOWN]:
        click.echo(block(f"  {line}"), err=True)
