"""A run is carried out once: what is there of it is gone on with, put aside, or refused."""

import threading
from pathlib import Path

import pytest

from rerail.errors import UsageProblem
from rerail.experiment.driver import RUNS, Driver
from rerail.experiment.ledger import Ledger
from rerail.experiment.plan import FIRST, Key, make_plan
from rerail.experiment.schedule import Job
from rerail.script.durable import Script

from .conftest import Bench

FIRST_RUN = Job(Key("sums/5", 0, FIRST))


class Drives:
    """A driver of one experiment, and its ledger."""

    def __init__(self, bench: Bench, ledger: Ledger, **changes: object) -> None:
        of = bench.contract(**changes)
        self.plan = make_plan(of, bench.tasks)
        self.ledger = ledger
        by_name = {task.name: task for task in bench.tasks}
        stop = threading.Event()
        self.driver = Driver(bench.folder, self.plan, by_name, bench.asker(of), ledger, stop)

    @property
    def aside(self) -> list[str]:
        return [entry.tape for entry in self.ledger.entries if entry.aside]


@pytest.fixture
def ledger(bench: Bench) -> Path:
    (bench.folder / RUNS).mkdir(parents=True)
    return bench.folder / "ledger.jsonl"


def test_a_run_that_is_over_is_measured_and_not_begun_anew(bench: Bench, ledger: Path) -> None:
    with Ledger(ledger) as kept:
        drives = Drives(bench, kept)
        run = drives.driver.carry_out(FIRST_RUN)
        asked = len(bench.model.asked)
        assert drives.driver.carry_out(FIRST_RUN) == run
        assert len(bench.model.asked) == asked
        assert [entry.tape_id for entry in kept.entries] == [run.tape_id] * 2


def test_what_a_kill_at_the_end_of_a_run_left_beside_its_tape_is_gone(
    bench: Bench, ledger: Path
) -> None:
    with Ledger(ledger) as kept:
        drives = Drives(bench, kept)
        run = drives.driver.carry_out(FIRST_RUN)
        left = bench.folder / f"{run.tape}-journal"
        left.write_bytes(b"")
        assert drives.driver.carry_out(FIRST_RUN) == run
        assert not left.exists()


def test_a_tape_on_which_nothing_happened_is_put_aside_each_under_its_own_name(
    bench: Bench, ledger: Path
) -> None:
    path = bench.folder / RUNS / "sums-5.0.first.tape"
    with Ledger(ledger) as kept:
        drives = Drives(bench, kept)
        for content in (b"", b"no tape"):
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            assert drives.driver.carry_out(FIRST_RUN).key == FIRST_RUN.key
        assert drives.aside == [f"runs/sums-5.0.first.aside-{n}.tape" for n in (1, 2)]


def test_a_run_of_another_plan_is_refused(bench: Bench, ledger: Path) -> None:
    with Ledger(ledger) as kept:
        Drives(bench, kept).driver.carry_out(FIRST_RUN)
        with pytest.raises(UsageProblem, match="is of another plan"):
            Drives(bench, kept, further=3).driver.carry_out(FIRST_RUN)


def test_the_hint_may_be_what_the_last_check_had_named(bench: Bench, ledger: Path) -> None:
    with Ledger(ledger) as kept:
        drives = Drives(bench, kept, hint="errors", point="last")
        seeds = range(10)
        runs = [drives.driver.carry_out(Job(Key("sums/5", seed, FIRST))) for seed in seeds]
        failed = next(run for run in runs if run.outcome == "failed" and run.checked)
        job = Job(Key("sums/5", failed.key.seed, "start-over+hint"), failed)
        run = drives.driver.carry_out(job)
    assert run.hint.startswith("These are the errors: ")
    with Script.open(bench.folder / run.tape) as saved:
        assert run.hint in saved.pauses[0].arguments["history"][1]["content"]
