"""A Node program in a run folder: recorded, then replayed with what it was given.

Plays the recorder: a program that calls `step()` waits until the turn has moved on.
"""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rerail.launch.run_folder import ProbeSettings, RunFolder
from rerail.probe import paths
from rerail.probe.log import read_hello

SEED = "5e" * 32
STEP = (
    "globalThis.step = () => { process.stdout.write('step\\n'); "
    "require('fs').readSync(0, Buffer.alloc(1)); };\n"
)
SECOND = 10**9
LATER = 2_000_000_000 * SECOND
"""The virtual clock of a replay, by default: in 2033."""

OnStep = Callable[[RunFolder], None]


def next_turn(folder: RunFolder) -> None:
    """What a model call does to the page."""
    folder.turn_begins(1)


class NodeRun:
    """Programs run by one Node in one folder, and the logs that the last recording left."""

    def __init__(self, node: str, place: Path) -> None:
        self.node = node
        self.place = place
        self.logs: dict[str, bytes] = {}
        self.said: list[bytes] = []
        (place / "step.cjs").write_text(STEP)

    def plain(self, program: str, **options: Any) -> str:
        """What it puts out without rerail."""
        return self._run(program, {}, None, next_turn, **options)

    def record(self, program: str, *, on_step: OnStep = next_turn, **options: Any) -> str:
        """What it puts out while it is recorded; keeps the logs by process name."""
        settings = ProbeSettings(mode="record", seed=SEED, **options.pop("settings", {}))
        with RunFolder.make(settings) as folder:
            output = self._run(program, self._variables(folder), folder, on_step, **options)
            self.said = said_in(folder)
        self.logs = {name_of(lines): lines for lines in self.said}
        return output

    def replay(
        self,
        program: str,
        *,
        on_step: OnStep = next_turn,
        page: Mapping[str, int] | None = None,
        **options: Any,
    ) -> str:
        """What it puts out with the kept logs, by default on a clock that stands years later."""
        settings = ProbeSettings(mode="replay", seed=SEED, **options.pop("settings", {}))
        with RunFolder.make(settings) as folder:
            folder.give_back(self.logs)
            for name, value in (page or {"wall_base": LATER}).items():
                setattr(folder.page, name, value)
            folder.publish()
            output = self._run(program, self._variables(folder), folder, on_step, **options)
            self.said = said_in(folder)
        return output

    def same_again(self, program: str, **options: Any) -> str:
        """Record and replay: what is put out is the same, and given."""
        recorded = self.record(program, **options)
        assert self.replay(program, **options) == recorded
        return recorded

    @property
    def lines(self) -> list[str]:
        """Every line that probes wrote in the last run."""
        return b"".join(self.said).decode().splitlines()

    def _variables(self, folder: RunFolder) -> dict[str, str]:
        preload = f"--require {paths().node_preload}"
        return {"RERAIL_RUN": str(folder.path), "NODE_OPTIONS": preload}

    def _run(
        self,
        program: str,
        variables: dict[str, str],
        folder: RunFolder | None,
        on_step: OnStep,
        *,
        name: str = "agent.cjs",
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> str:
        script = self.place / name
        script.write_text(program)
        env = {"PATH": os.environ["PATH"], "TZ": "UTC", **variables, **(environment or {})}
        words = [self.node, "-r", str(self.place / "step.cjs"), *options, str(script)]
        with subprocess.Popen(
            words,
            cwd=self.place,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            output = []
            for line in process.stdout:
                if line != "step\n":
                    output.append(line)
                    continue
                if folder is not None:
                    on_step(folder)
                process.stdin.write("\n")
                process.stdin.flush()
            said = process.stderr.read()
        assert process.returncode == 0, said
        assert said == ""
        return "".join(output)


def said_in(folder: RunFolder) -> list[bytes]:
    """What probes wrote, where the folder is still there."""
    return [lines for _, lines in folder.news()] if folder.path.exists() else []


def name_of(lines: bytes) -> str:
    """`key.n` of the process that wrote a log."""
    hello = read_hello(lines.partition(b"\n")[0])
    assert hello is not None
    return hello.name
