"""A program run under the probe as in a recording, then as in a replay of it."""

import subprocess
import textwrap
from pathlib import Path

from rerail.clock import monotonic_ns
from rerail.launch.run_folder import REAL_CLOCK, ProbeSettings, RunFolder
from rerail.probe import paths
from rerail.probe.log import jobs_in, read_hello

SEED = "5e" * 32
PRELUDE = """\
import os, sys
def next_turn():
    from _rerail_run import RUN
    with open(os.environ["RERAIL_RUN"] + "/page", "r+b") as page:
        page.seek(64 + 8 * RUN.number)
        turn = int.from_bytes(page.read(8), "little") + 1
        page.seek(64 + 8 * RUN.number)
        page.write(turn.to_bytes(8, "little"))
"""


class Played:
    """Runs scripts in a folder with one interpreter; what the last recording wrote is replayed."""

    def __init__(self, folder: Path, executable: str) -> None:
        self.folder = folder
        self.executable = executable
        self.environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        self.logs: dict[str, bytes] = {}
        self.jobs: list[dict[str, bytes]] = []
        self.seed = SEED
        self.said = ""
        self.written = b""

    def record(self, program: str, *options: str, **settings: bool) -> str:
        """Run a program as in a recording; its output."""
        with RunFolder.make(ProbeSettings(mode="record", seed=self.seed, **settings)) as run:
            output = self._run(run, program, options)
            self.logs, self.jobs = {}, []
            for _, lines in run.news():
                hello = read_hello(lines.partition(b"\n")[0])
                assert hello is not None
                self.logs[hello.name] = lines
                self.jobs.append(jobs_in(lines, hello.name.encode()))
        return output

    def replay(
        self, program: str, *options: str, wall: int = 0, limit: int = 0, live: bool = False
    ) -> str:
        """Run a program as in a replay of the last recording; its output.

        `wall` and `limit` are what the page says of the time; `live`: that it is the true one, in a
        replay that is recorded.
        """
        settings = ProbeSettings(mode="replay", seed=self.seed, log=live)
        with RunFolder.make(settings) as run:
            run.give_back(self.logs)
            run.give_back({name: log for jobs in self.jobs for name, log in jobs.items()})
            run.page.wall_base, run.page.wall_limit = wall, limit
            run.page.mono_base = 0 if not wall else monotonic_ns()
            run.page.flags = REAL_CLOCK if live else 0
            run.publish()
            output = self._run(run, program, options)
            self.written = b"".join(lines for _, lines in run.news())
            return output

    def alone(self, program: str) -> str:
        """Run a program outside any run; its output."""
        return self._run(None, program, ())

    def same(self, program: str, changed: str = "") -> str:
        """Record it, replay it twice (changed, if so asked): its output, which is the same."""
        recorded = self.record(program)
        for _ in range(2):
            assert self.replay(changed or program) == recorded
        return recorded

    def _run(self, run: RunFolder | None, program: str, options: tuple[str, ...]) -> str:
        script = self.folder / "program.py"
        script.write_text(PRELUDE + textwrap.dedent(program))
        environment = {**self.environment, "PYTHONPATH": str(paths().python)}
        if run is not None:
            environment["RERAIL_RUN"] = str(run.path)
            if run.settings.hash_seed is not None:
                environment["PYTHONHASHSEED"] = str(run.settings.hash_seed)
        done = subprocess.run(
            [self.executable, *options, str(script)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.said = done.stderr
        return done.stdout
