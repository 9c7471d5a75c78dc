"""Carries one run out, whatever was there of it already: begun, gone on with, or only counted.

A tape that is there is never begun anew: a finished one is the run, an unfinished one is resumed
from its last saved state. Only one on which nothing had happened yet is put aside.
"""

import threading
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Final

from rerail.errors import NotOnTape, TapeUnreadable, UsageProblem
from rerail.experiment import agent
from rerail.experiment.host import CHECK, Host
from rerail.experiment.ledger import Entry, Ledger
from rerail.experiment.measure import facts, measure
from rerail.experiment.measured import Run, State, point
from rerail.experiment.model import Asker
from rerail.experiment.plan import FIRST, Plan
from rerail.experiment.schedule import Job
from rerail.experiment.task import Task
from rerail.script.durable import Saved, Script
from rerail.script.recorded import read_script
from rerail.tape.companions import with_companions
from rerail.tape.reader import Tape
from rerail.tape.reopening import settle

RUNS: Final = "runs"
NO_ERRORS_KNOWN: Final = "No check has run yet: run one before anything else."


class Driver:
    """Carries out runs in `folder`; from several threads at once."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        tasks: Mapping[str, Task],
        asker: Asker,
        ledger: Ledger,
        stop: threading.Event,
    ) -> None:
        self._folder = folder
        self._plan = plan
        self._digest = plan.digest
        self._tasks = tasks
        self._asker = asker
        self._ledger = ledger
        self._stop = stop
        self._adding = threading.Lock()

    def carry_out(self, job: Job) -> Run:
        """Do a run to its end and enter it into the ledger. Raises Stopped, NotReached …"""
        path = self._folder / RUNS / f"{job.key.name}.tape"
        if not self._is_over(path):
            if path.exists():
                Script.resume(path, tools=self._host(job).tools()).close()
            else:
                self._begin(job, path)
        else:
            settle(path)
        run = measure(path)
        assert run is not None, f"{path} has no end"
        with self._adding:
            self._ledger.add(Entry(key=run.key, tape=run.tape, tape_id=run.tape_id))
        return run

    def _is_over(self, path: Path) -> bool:
        """Whether the run is on its tape already. One without a single step is put aside."""
        try:
            run = measure(path) if path.exists() else None
            if run is not None and run.plan != self._digest:
                raise UsageProblem(f"{path} is of another plan", hint="name another folder with -o")
            if run is None and path.exists() and not _pauses(path):
                raise NotOnTape("nothing had happened in it")
        except (TapeUnreadable, NotOnTape) as error:
            self._put_aside(path, error.what)
            return False
        return run is not None

    def _put_aside(self, path: Path, why: str) -> None:
        names = (path.with_name(f"{path.stem}.aside-{n}.tape") for n in count(1))
        aside = next(name for name in names if not name.exists())
        for found, moved in zip(with_companions(path), with_companions(aside), strict=True):
            if found.exists():
                found.rename(moved)
        with self._adding:
            self._ledger.add(Entry(tape=f"{RUNS}/{aside.name}", aside=why))

    def _begin(self, job: Job, path: Path) -> None:
        key, task = job.key, self._tasks[job.key.task]
        told = facts(key, plan=self._digest, hint=self._hint(job))
        tools = self._host(job).tools()
        if key.arm.startswith("rewind"):
            with Script.open(self._failed(job)) as saved:
                fork = saved.fork(
                    self._point(job).pause, output=path, tools=tools, run_id=key.name, facts=told
                )
            with fork:
                fork.go_on()
            return
        start = {"history": self._history(job), "files": dict(task.files)}
        Script.start(
            agent.SOURCE,
            tape=path,
            tools=tools,
            inputs={"start": start},
            name="loop.py",
            run_id=key.name,
            task_id=key.task,
            facts=told,
        ).close()

    def _host(self, job: Job) -> Host:
        contract, rewinds = self._plan.contract, job.key.arm.startswith("rewind")
        limit = contract.turns if job.key.arm == FIRST else contract.further
        state = self._point(job) if rewinds else None
        return Host(
            key=job.key,
            task=self._tasks[job.key.task],
            asker=self._asker,
            limit=limit + (state.turn or 0 if state else 0),
            stop=self._stop,
            note=agent.note(hint) if rewinds and (hint := self._hint(job)) else "",
            note_at=state.pause if state else 0,
        )

    def _history(self, job: Job) -> list[dict[str, str]]:
        """What an agent that begins at the beginning has heard: nothing, or all but its files."""
        task, hint = self._tasks[job.key.task], self._hint(job)
        if not job.key.arm.startswith("history"):
            return agent.beginning(task.prompt, sorted(task.files), hint)
        with Script.open(self._failed(job)) as saved:
            pause = saved.recorded.pause(self._point(job).pause)
            history: list[dict[str, str]] = pause.arguments["history"]
        return [*history, {"role": "user", "content": agent.note(hint)}]

    def _hint(self, job: Job) -> str:
        if not job.key.arm.endswith("+hint"):
            return ""
        if self._plan.contract.hint == "task":
            return self._tasks[job.key.task].hint
        with Script.open(self._failed(job)) as saved:
            return _errors_at(saved, self._point(job))

    def _point(self, job: Job) -> State:
        assert job.failure is not None
        return point(job.failure, self._plan.contract.point)

    def _failed(self, job: Job) -> Path:
        assert job.failure is not None
        return self._folder / job.failure.tape


def _pauses(path: Path) -> int:
    with Tape.open(path) as tape:
        return len(read_script(tape).pauses)


def _errors_at(saved: Saved, state: State) -> str:
    """What the last check before a state had named."""
    checks = [pause for pause in saved.pauses if pause.tool == CHECK and pause.number < state.pause]
    if not checks or checks[-1].answer is None:
        return NO_ERRORS_KNOWN
    errors: list[str] = checks[-1].answer.value["errors"]
    return "These are the errors: " + "; ".join(errors)
