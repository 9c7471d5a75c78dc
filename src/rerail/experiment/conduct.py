"""An experiment in its folder: conducted, gone on with, told, and computed again from its tapes.

plan.json      what was promised            runs/*.tape    every run
ledger.jsonl   the runs that are over       receipt.*      what came of it, as JSON, Markdown, HTML
"""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from rerail.errors import UsageProblem
from rerail.experiment import pages
from rerail.experiment.contract import Contract
from rerail.experiment.driver import RUNS, Driver
from rerail.experiment.ledger import Entry, Ledger, read
from rerail.experiment.measure import judged_files, measure, verdict_of
from rerail.experiment.measured import Run
from rerail.experiment.model import Asker
from rerail.experiment.plan import Plan, make_plan
from rerail.experiment.receipt import Receipt, to_json
from rerail.experiment.reckoning import make_receipt
from rerail.experiment.schedule import Schedule, Watcher
from rerail.experiment.task import Task, digest
from rerail.script.recorded import read_script
from rerail.tape.reader import Tape
from rerail.tape.seal import verify
from rerail.whole_file import replace_whole

PLAN: Final = "plan.json"
LEDGER: Final = "ledger.jsonl"
RECEIPT: Final = "receipt.json"


def conduct(
    folder: Path,
    contract: Contract,
    tasks: Sequence[Task],
    asker: Asker,
    watcher: Watcher,
    stop: threading.Event,
) -> Receipt:
    """Carry out all runs that are missing, and write the receipt; also where it is stopped.

    Args:
        folder: Made where it is not there; one of the same plan is gone on with.
        contract: The experiment.
        tasks: Those that it names (`kinds.open_tasks`).
        asker: The model.
        watcher: Is told how far it is.
        stop: Once set, the runs under way end at their next turn.

    Raises:
        UsageProblem: The folder is another experiment's, or another process runs it.
        Stopped, NotReached: What was done is kept; the same call goes on.
    """
    plan = make_plan(contract, tasks)
    (folder / RUNS).mkdir(mode=0o700, parents=True, exist_ok=True)
    with Ledger(folder / LEDGER) as ledger:
        _settle(folder, plan)
        over = {run.key: run for run in _measured(folder, ledger.entries)}
        by_name = {task.name: task for task in tasks}
        driver = Driver(folder, plan, by_name, asker, ledger, stop)
        try:
            Schedule(plan, over, driver.carry_out, watcher, stop).conduct()
        finally:
            receipt = make_receipt(plan, list(over.values()), _aside(ledger.entries))
            _write(folder, receipt)
    return receipt


def read_receipt(folder: Path) -> Receipt:
    """The receipt as it was written. Raises UsageProblem."""
    try:
        return msgspec.json.decode((folder / RECEIPT).read_bytes(), type=Receipt)
    except FileNotFoundError as error:
        raise UsageProblem(
            f"there is no receipt in {folder}",
            hint="name the folder of an experiment; --recompute tells one that has not ended",
        ) from error
    except msgspec.MsgspecError as error:
        raise UsageProblem(
            f"{folder / RECEIPT} is no receipt: {error}",
            hint="`rerail experiment report --recompute` says what the tapes make of it",
        ) from error


def recompute(folder: Path, tasks: Sequence[Task]) -> tuple[Receipt, list[str]]:
    """The receipt that the tapes make, and what on the written one differs from it.

    Every number is read off the tapes again, each tape is verified and its id computed from its
    bytes, and every verdict is given anew on the files that its tape holds.
    """
    plan = read_plan(folder)
    entries = list(read(folder / LEDGER))
    by_name = {task.name: task for task in tasks}
    differing = [*_changed_tasks(plan, by_name)]
    runs = []
    for entry in entries:
        if not entry.aside:
            run = _over(folder, entry)
            runs.append(run)
            differing += _against_ledger(entry, run, plan)
            differing += _not_intact(folder / entry.tape)
            differing += _judged_anew(folder, run, by_name)
    receipt = make_receipt(plan, runs, _aside(entries))
    if (folder / RECEIPT).exists():
        written = _json(folder / RECEIPT)
        differing += _differences(written, msgspec.json.decode(to_json(receipt)), "receipt")
    else:
        differing.append("no receipt was written: this is what the tapes make")
    return receipt, differing


def _settle(folder: Path, plan: Plan) -> None:
    """The plan is on the disk before anything runs; a folder has one plan for ever.

    Only who holds the ledger's lock comes here: of two that begin at once, one makes the plan.
    """
    path = folder / PLAN
    if not path.exists():
        replace_whole(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")
        return
    settled = read_plan(folder)
    if settled.digest != plan.digest:
        before, now = (msgspec.json.decode(msgspec.json.encode(one)) for one in (settled, plan))
        what = "; ".join([*_differences(before, now, "plan")][:3])
        raise UsageProblem(
            f"{folder} holds an experiment of another plan: {what}",
            hint="name another folder with -o; what is promised beforehand cannot be changed",
        )


def read_plan(folder: Path) -> Plan:
    """What the experiment in a folder promised. Raises UsageProblem."""
    try:
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=Plan)
    except FileNotFoundError as error:
        raise UsageProblem(
            f"there is no experiment in {folder}",
            hint="`rerail experiment run exp.yaml -o DIR` begins one",
        ) from error
    except msgspec.MsgspecError as error:
        raise UsageProblem(
            f"{folder / PLAN} is no plan: {error}", hint="take the file from a copy"
        ) from error


def _measured(folder: Path, entries: list[Entry]) -> Iterator[Run]:
    return (_over(folder, entry) for entry in entries if not entry.aside)


def _over(folder: Path, entry: Entry) -> Run:
    run = measure(folder / entry.tape)
    if run is None:
        raise UsageProblem(
            f"{folder / entry.tape} has no end, and the ledger says that the run was over",
            hint="take the folder from a copy",
        )
    return run


def _aside(entries: list[Entry]) -> list[str]:
    return [f"{entry.tape} ({entry.aside})" for entry in entries if entry.aside]


def _write(folder: Path, receipt: Receipt) -> None:
    replace_whole(folder / "receipt.md", pages.markdown(receipt).encode())
    replace_whole(folder / "receipt.html", pages.html(receipt).encode())
    replace_whole(folder / RECEIPT, to_json(receipt))


def _changed_tasks(plan: Plan, tasks: dict[str, Task]) -> Iterator[str]:
    for frozen in plan.tasks:
        now = digest(tasks[frozen.name])
        if now != frozen.digest:
            yield f"task {frozen.name}: {frozen.digest} in the plan, {now} here"


def _against_ledger(entry: Entry, run: Run, plan: Plan) -> Iterator[str]:
    if run.tape_id != entry.tape_id:
        yield f"{entry.tape}: {entry.tape_id} in the ledger, {run.tape_id} by its bytes"
    if run.key != entry.key:
        named = entry.key.name if entry.key else "no run"
        yield f"{entry.tape}: {named} in the ledger, {run.key.name} on the tape"
    if run.plan != plan.digest:
        yield f"{entry.tape}: of plan {run.plan}, not {plan.digest}"


def _not_intact(path: Path) -> Iterator[str]:
    """What `verify` finds: bytes that no number was read from may be altered, too."""
    with Tape.open(path) as tape:
        for finding in verify(tape).findings:
            if finding.breaks:
                yield f"{path.name}: {finding.message}"


def _judged_anew(folder: Path, run: Run, tasks: dict[str, Task]) -> Iterator[str]:
    with Tape.open(folder / run.tape) as tape:
        script = read_script(tape)
        given, files = verdict_of(script), judged_files(script)
        if given is None or files is None:
            return
    anew = tasks[run.key.task].judge(files)
    if anew != given:
        yield f"{run.tape}: judged {given}, and now {anew}"


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise UsageProblem(
            f"{path} cannot be read: {error}", hint="`rerail experiment run` writes it anew"
        ) from error


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    """Where two documents differ, each place once."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            yield from _differences(before.get(name), now.get(name), f"{place}.{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif before != now:
        yield f"{place}: {before!r}, and now {now!r}"
