"""A task in a folder of its own: a contract that can be bent, a simulated model, a target."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from rerail.holds import Holds
from rerail.tape.event import Event
from rerail.tape.reader import Tape
from rerail.testing.model import Asked, Reply, SimulatedModel

PROGRAMS = Path(__file__).parent / "programs"
GOOD = {"timeout_before_send": 3, "timeout_after_charge": 0}
SLIP = {"timeout_before_send": 3, "timeout_after_charge": 2}
TOKEN = "lab-token-a1b2c3d4e5f6a7b8"
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ran:
    """One `rerail run` that is over: its status, its outcome as JSON, what was said, its tape."""

    status: int
    outcome: Mapping[str, Any]
    said: str
    tape: Path


@dataclass(frozen=True, slots=True)
class Made:
    """What a fault left: the tape of the run, and those that follow it, in order."""

    tape: Path
    more: tuple[Path, ...] = ()
    ran: tuple[Ran, ...] = field(default=())

    @property
    def tapes(self) -> tuple[Path, ...]:
        return (self.tape, *self.more)


def events(tape: Path, *kinds: type[Event]) -> list[Any]:
    """The events of a tape, of these kinds or of all."""
    with Tape.open(tape) as opened:
        return [event for event in opened.events() if not kinds or isinstance(event, kinds)]


class Lab:
    """A task, its programs and its target. Everything is in `folder`; nothing else is touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.task = folder / "task"
        self.live = folder / "live"
        self._stack = ExitStack()
        self._count = 0
        self.room = 0
        self.answer: Mapping[str, Any] = GOOD
        self.contract = self._lay_out()

    def __enter__(self) -> Self:
        self.model = self._stack.enter_context(SimulatedModel(self._reply))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def environment(self) -> dict[str, str]:
        """What every command of the lab runs with."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),  # what a killed runner leaves goes with the lab
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "MODEL_URL": self.model.url,
            "LAB_TOKEN": TOKEN,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    # The contract.

    def agent(self, *how: str) -> None:
        """The agent does as this says."""
        self.contract["agent"]["command"] = self._python("agent.py", *how)

    def checker(self, *how: str) -> None:
        """The checker does as this says."""
        self.contract["checker"]["command"] = self._python("checker.py", *how)

    def target(self, what: str, *how: str, **more: Any) -> None:
        """One command of the target (`apply`, `read`, `reconcile`) does as this says."""
        command = self._python("target.py", str(self.live), what, *how)
        self.contract["target"][what] = {**self.contract["target"][what], "command": command} | more

    def policy(self, *paths: str) -> None:
        """A policy grants proposals that touch only these."""
        grant = {"target": self.contract["target"]["name"], "paths": list(paths)}
        (self.task / "policy.yaml").write_text(
            json.dumps({"name": "lab", "version": "1", "grants": [grant]})
        )
        self.contract["approval"]["policy"] = "policy.yaml"

    # Runs.

    def run(self, *options: str, tape: str = "", **environment: str) -> Ran:
        """`rerail run` to its end, on a tape of its own; granted by a policy unless told else."""
        name = self._named(tape)
        self.write_contract()
        words = ["run", "task/task.yaml", "-o", name, "--json", "--no-wait", *options]
        done = self.rerail(*words, **environment)
        outcome = json.loads(done.stdout) if done.stdout else {}
        return Ran(done.returncode, outcome, done.stderr, self.folder / name)

    def start(self, *options: str, tape: str = "") -> tuple["subprocess.Popen[bytes]", Path]:
        """The same, started; ended with the lab."""
        name = self._named(tape)
        self.write_contract()
        process = subprocess.Popen(
            [sys.executable, "-m", "rerail.cli", "run", "task/task.yaml", "-o", name, *options],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

        def end() -> None:
            process.kill()
            process.communicate()

        self._stack.callback(end)
        return process, self.folder / name

    def rerail(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Any verb; no file may become larger than `room` bytes, where that is set."""
        return subprocess.run(
            [sys.executable, "-m", "rerail.cli", *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            preexec_fn=self._narrow if self.room else None,
        )

    def _narrow(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.room, self.room))

    def write_contract(self) -> Path:
        """The contract as it is now, in its file; JSON is YAML."""
        file = self.task / "task.yaml"
        file.write_text(json.dumps(self.contract, indent=2))
        return file

    # The machine's memory, and the target.

    def holds(self) -> Holds:
        """What this lab's machine remembers."""
        return self._stack.enter_context(Holds.open(self.environment))

    def waiting(self) -> str:
        """The approval that waits."""
        return next(item.id for item in self.holds().approvals() if item.state == "waiting")

    def open_attempt(self) -> str:
        """The attempt whose outcome is not known."""
        return next(item.id for item in self.holds().attempts() if item.state == "open")

    def applied(self) -> Sequence[str]:
        """The attempts that came through, by the target's own log."""
        log = self.live / "attempts.log"
        return log.read_text().split() if log.exists() else []

    def wait_for(self, ready: Callable[[], bool], what: str) -> None:
        """Wait until something outside is so; a bound keeps a broken test from hanging."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not ready():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            time.sleep(0.01)

    # How it is laid out.

    def _reply(self, asked: Asked) -> Reply:
        return Reply(json.dumps(self.answer))

    def _named(self, tape: str) -> str:
        self._count += 1
        return tape or f"run-{self._count}.tape"

    def _python(self, program: str, *words: str) -> list[str]:
        return [sys.executable, str(PROGRAMS / program), *words]

    def _lay_out(self) -> dict[str, Any]:
        for folder in (self.home, self.folder / "tmp", self.task / "workspace"):
            folder.mkdir(parents=True)
        (self.task / "workspace" / "retry.json").write_text('{"timeout_before_send": 1}')
        self.write_baseline(12, at_most=3)
        self.write_baseline(11, at_most=1)
        rules = "A request that may have charged a card is never retried by itself."
        (self.task / "policy.json").write_text(json.dumps({"version": "4", "rules": [rules]}))
        target = [
            self._python("target.py", str(self.live), what)
            for what in ("apply", "read", "reconcile")
        ]
        return {
            "task": "TASK-LAB",
            "version": "8",
            "objective": "Let the payment client retry a timed-out request.",
            "constraints": [{"id": "no-double-charge", "text": rules}],
            "inputs": [{"name": "retry-policy", "version": "4", "path": "policy.json"}],
            "agent": {"command": self._python("agent.py"), "environment": ["MODEL_URL"]},
            "workspace": "workspace",
            "budget": {"turns": 5, "time": "30s"},
            "checker": {
                "command": self._python("checker.py"),
                "version": "3",
                "time": "10s",
                "repeat": 1,
            },
            "baseline": {"name": "retry-cases", "version": "12", "path": "cases-12.json"},
            "approval": {"ttl": "10m"},
            "target": {
                "name": "client/live",
                "owner": "payments on call",
                "apply": {"command": target[0], "time": "10s", "rejects": [22]},
                "read": {"command": target[1]},
                "reconcile": {"command": target[2]},
                "credential": {"env": "LAB_TOKEN"},
            },
        }

    def write_baseline(self, version: int, *, at_most: int) -> Path:
        """A baseline in its file."""
        names = (("before send", at_most), ("after charge", 0))
        cases = [
            {
                "name": f"timeout {name}",
                "key": f"timeout_{name.replace(' ', '_')}",
                "at_most": most,
                "protected": True,
                "tests": "retry-policy",
            }
            for name, most in names
        ]
        file = self.task / f"cases-{version}.json"
        file.write_text(json.dumps({"version": str(version), "cases": cases}))
        return file
