"""Durable scripts: what a pause costs, a fork, taking a run up again; and the bytes of a step."""

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from bench.arena import Arena, progress
from bench.contenders import ROOT
from bench.figures import Goal, Row, row
from rerail.script import Call, Run, Script, repeatable
from rerail.tape.reader import Tape

TURNS: Final = 5
_TAPES_A_ROUND: Final = 10
_BACK_TO: Final = 3
_FILES: Final = 3
_FILE: Final = 350
_ERRORS: Final = 3
_MS: Final = 1e3
_WORDS: Final = (
    "const", "export", "function", "number", "string", "return", "value", "await", "users", "list",
    "index", "config", "email", "optional", "readonly", "type", "promise", "record", "undefined",
)  # fmt: skip


def measure(arena: Arena) -> list[Row]:
    """The document's agent, five turns on three small files, on tapes of its own."""
    found: dict[str, list[float]] = {}
    rounds = arena.plan.start_rounds
    with _user(arena.place) as folder:
        agent = Agent(folder)
        agent.run(repeat=True)  # the worker is started, what is needed is loaded
        for number in range(rounds):
            progress(f"durable scripts, round {number + 1} of {rounds}")
            for name, value in agent.round().items():
                found.setdefault(name, []).append(value)
    at_most = Goal("value", "at most", 1.0)
    quick = Goal("value", "at most", 3.0)
    small = Goal("value", "at most", 2000)
    return [
        row("a pause, from one call of a tool to the next", "ms", rerail=found["pause"],
            goal=at_most),
        row("the same, synced: the tool may not be repeated", "ms", rerail=found["synced"],
            goal=at_most),
        row("a fork, until it waits", "ms", rerail=found["fork"], goal=quick),
        row("a fork answered, until its next pause is kept", "ms", rerail=found["answered"]),
        row("a run taken up again, until it waits", "ms", rerail=found["resume"], goal=quick),
        row("bytes of a step's evidence (direct: the engine's state alone)", "B",
            rerail=found["state"], direct=found["raw"]),
        row("bytes of a step, all of its tape", "B", rerail=found["tape"], goal=small),
    ]  # fmt: skip


class Agent:
    """The example's agent, its answers made up, on one tape after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._code = (ROOT / "examples" / "repair" / "agent.py").read_text("utf-8")
        chosen = random.Random(1)
        files = {f"src/{name}.ts": _text(chosen, _FILE) for name in ("users", "format", "index")}
        self._given = {"task": _text(chosen, _FILE), "limit": TURNS, "files": files}
        self._actions = [
            {"tool": "read", "path": "src/users.ts"},
            {"tool": "read", "path": "src/format.ts"},
            {"tool": "check"},
            {"tool": "write", "path": "src/format.ts", "content": _text(chosen, _FILE)},
            {"tool": "check"},
        ]
        self._errors = [_text(chosen, 90) for _ in range(_ERRORS)]
        self._marks: list[float] = []

    def round(self) -> dict[str, float]:
        """The medians of one round."""
        pauses = [gap for _ in range(_TAPES_A_ROUND) for gap in self.run(repeat=True)]
        synced = [gap for _ in range(_TAPES_A_ROUND) for gap in self.run(repeat=False)]
        origin = self._path()
        forks = self._forked(origin)
        resumed = [_timed(partial(Script.resume, path)) for path in forks.pop("paths")]
        for _, run in resumed:
            run.close()
        return {
            "pause": median(pauses),
            "synced": median(synced),
            "resume": median(took for took, _ in resumed),
            **{name: median(values) for name, values in forks.items()},
            **_sizes(origin),
        }

    def run(self, *, repeat: bool) -> list[float]:
        """Milliseconds from each call of a tool to the next one of a whole run."""
        self._number += 1
        mark: Callable[[Callable[[Call], object]], Any] = repeatable if repeat else lambda it: it
        tools = {"think": mark(self._think), "tsc": mark(self._tsc)}
        self._marks = []
        done = Script.start(self._code, tape=self._path(), tools=tools, inputs=self._given)
        assert done.state == "ended", done.error
        left, called = self._marks[1:-1:2], self._marks[2::2]
        return [(after - before) * _MS for before, after in zip(left, called, strict=True)]

    def _forked(self, origin: Path) -> dict[str, Any]:
        """Forks of one pause, each answered to its next; parked at the end."""
        took: dict[str, Any] = {"fork": [], "answered": [], "paths": []}
        with Script.open(origin) as saved:
            for number in range(2 * _TAPES_A_ROUND):
                path = origin.with_name(f"fork-{self._number}-{number}.tape")
                spent, fork = _timed(partial(saved.fork, _BACK_TO, output=path))
                took["fork"].append(spent)
                token = fork.pauses[-1].token
                reply = {"content": json.dumps(self._actions[2])}
                spent, _ = _timed(partial(fork.answer, token, reply))
                took["answered"].append(spent)
                fork.close()
                took["paths"].append(path)
        return took

    def _path(self) -> Path:
        return self._folder / f"{self._number}.tape"

    def _think(self, call: Call) -> object:
        self._marks.append(perf_counter())
        reply = {"content": json.dumps(self._actions[call.arguments["turn"]])}
        self._marks.append(perf_counter())
        return reply

    def _tsc(self, call: Call) -> object:
        self._marks += [perf_counter(), perf_counter()]
        return {"errors": self._errors}


def _timed(act: Callable[[], Run]) -> tuple[float, Run]:
    begun = perf_counter()
    run = act()
    return (perf_counter() - begun) * _MS, run


def _sizes(path: Path) -> dict[str, float]:
    with Script.open(path) as saved, Tape.open(path) as tape:
        states = [pause.state for pause in saved.pauses]
        stored = tape.evidence.stored_size([state.digest for state in states])
        steps = len(states)
    return {
        "raw": median(state.size for state in states),
        "state": stored / steps,
        "tape": path.stat().st_size / steps,
    }


def _text(chosen: random.Random, size: int) -> str:
    return " ".join(chosen.choices(_WORDS, k=size // 8))


@contextmanager
def _user(place: Any) -> Iterator[Path]:
    """A user whose key lies in a folder of the bench, and room for tapes on the same disk."""
    before = os.environ.get("XDG_DATA_HOME")
    with TemporaryDirectory(dir=place.folder) as folder:
        os.environ["XDG_DATA_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop("XDG_DATA_HOME")
            if before is not None:
                os.environ["XDG_DATA_HOME"] = before
