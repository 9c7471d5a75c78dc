"""Which run comes next: first runs until enough have failed, then every arm of every failure.

What is over stays over: a run that the ledger has is never begun again. Knows no tape and no model;
who carries a run out is given.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from msgspec import Struct

from rerail.errors import UserError
from rerail.experiment.measured import Run, is_failure, kept_failures
from rerail.experiment.plan import Key, Plan


class Job(Struct, frozen=True):
    """A run to carry out; an arm's has the first run that failed."""

    key: Key
    failure: Run | None = None


class Watcher(Protocol):
    """Is told how far the experiment is."""

    def phase(self, what: str, done: int, total: int) -> None:
        """A part of the experiment begins, of which so many runs are over already."""

    def over(self, run: Run, done: int) -> None:
        """A run is over; `done` of this part are, or in the first part so many failures are."""


class Stopped(UserError):
    """The experiment was asked to stop: what was under way can be gone on with."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("stopped", hint="the same command goes on with it")


CarryOut = Callable[[Job], Run]


class Schedule:
    """The runs of one experiment, some of them over already.

    Args:
        plan: What was promised.
        over: Runs that are over, by key; runs are added to it.
        carry_out: Does one run, in a thread of its own.
        watcher: Is told.
        stop: Once set, no run is begun any more.
    """

    def __init__(
        self,
        plan: Plan,
        over: dict[Key, Run],
        carry_out: CarryOut,
        watcher: Watcher,
        stop: threading.Event,
    ) -> None:
        self._plan = plan
        self._over = over
        self._carry_out = carry_out
        self._watcher = watcher
        self._stop = stop
        self._begun: set[Key] = set()

    def conduct(self) -> None:
        """Carry out all that is missing. Raises what a run raised, and Stopped."""
        wanted = self._plan.contract.failures
        self._watcher.phase("failures", len(self._kept()), wanted)
        self._all(self._next_first, lambda: len(self._kept()))
        if self._stop.is_set():
            raise Stopped
        jobs = [job for job in self._arms() if job.key not in self._over]
        total = len(self._kept()) * len(self._plan.contract.arms)
        self._watcher.phase("arms", total - len(jobs), total)
        left = iter(jobs)
        self._all(
            lambda: next(left, None), lambda: total - sum(job.key not in self._over for job in jobs)
        )
        if self._stop.is_set():
            raise Stopped

    def _kept(self) -> list[Run]:
        return kept_failures(
            [self._over.get(key) for key in self._plan.firsts()], self._plan.contract
        )[0]

    def _next_first(self) -> Job | None:
        """None once enough are known to have failed, whichever they will be in the plan's order."""
        known = [self._over[key] for key in self._plan.firsts() if key in self._over]
        if sum(is_failure(run) for run in known) >= self._plan.contract.failures:
            return None
        begun = self._over.keys() | self._begun
        key = next((key for key in self._plan.firsts() if key not in begun), None)
        if key is None:
            return None
        self._begun.add(key)
        return Job(key)

    def _arms(self) -> Iterator[Job]:
        for failure in self._kept():
            for arm in self._plan.contract.arms:
                yield Job(Key(failure.key.task, failure.key.seed, arm), failure)

    def _all(self, next_job: Callable[[], Job | None], done: Callable[[], int]) -> None:
        parallel = self._plan.contract.parallel
        with ThreadPoolExecutor(parallel, "run") as pool:
            under_way: set[Future[Run]] = set()
            try:
                while not self._stop.is_set():
                    while len(under_way) < parallel and (job := next_job()):
                        under_way.add(pool.submit(self._carry_out, job))
                    if not under_way:
                        return
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    self._take(ended, done)
                self._take(wait(under_way).done, done)
            except BaseException:
                self._stop.set()
                raise

    def _take(self, ended: set[Future[Run]], done: Callable[[], int]) -> None:
        """What ended well is kept, whatever ended otherwise beside it."""
        failed: list[BaseException] = []
        for future in ended:
            error = future.exception()
            if error is None:
                run = future.result()
                self._over[run.key] = run
                self._watcher.over(run, done())
            elif not isinstance(error, Stopped):
                failed.append(error)
        if failed:
            raise failed[0]
