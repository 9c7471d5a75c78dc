"""The demo's story: a night run is recorded, replayed offline, and replayed with a changed prompt.

Then it is traced, mended and kept as a test (`mending`). Each step is a command that the user can
type; the tour looks at its exit status. It must not know how recording and replaying work.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from rerail.errors import UsageProblem
from rerail.testing.ca import CertificateAuthority
from rerail.testing.demo.desk import CUSTOMERS, RIGHT, TICKET, WRONG
from rerail.testing.demo.mending import Mending
from rerail.testing.demo.stage import TITLES, Kind, Stage, stage
from rerail.testing.demo.typed import AUTHORITY, KEY, Say, Typed

ATTEMPTS: Final[dict[Kind, int]] = {"simulated": 5, "local": 3}
"""Runs recorded until one files the ticket wrongly; the local model, until one comes to an end."""

OWN_FAILURE: Final = 125
"""From this status on it was not the agent that failed but the recording, or a signal came."""

CHANGED: Final = "rule-strict.txt"
CHANGED_TURN: Final = 3
REPORT: Final = "runs/changed.json"


class Tour:
    """One walk through the demo, in a folder of its own.

    Args:
        folder: Made where it does not exist; the agent, the tapes and the report go there.
        kind: Which model the agent runs on.
        say: Where a line of the story goes.
        program: What `rerail` is; by default the one that is installed beside this Python.
        attempts: Runs to record until one goes wrong; by default as many as the model has time for.

    Raises:
        UsageProblem: The folder holds something else.
    """

    def __init__(
        self,
        folder: Path,
        kind: Kind,
        say: Say,
        *,
        program: Sequence[str] = (),
        attempts: int | None = None,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._say = say
        self._python = Path(sys.executable).name
        self._typed = Typed(folder, say, program)
        self._attempts = attempts or ATTEMPTS[kind]
        self._failures: list[str] = []

    def walk(self) -> bool:
        """Go through the whole story; whether every step went as it should."""
        self._say(f"rerail demo, on {TITLES[self._kind]}")
        authority = CertificateAuthority("rerail demo")
        with stage(self._kind, authority) as servers:
            self._prepare(authority)
            self._introduce(servers)
            tape = self._record(servers)
        if tape is not None:
            told = self._report.read_text() if self._report.exists() else ""
            self._replay(tape, servers, told)
            self._replay_changed(tape, servers)
            mending = Mending(self._typed, self._kind, tape, self._agent(servers))
            self._failures += mending.walk(authority)
            self._look_next(tape)
        for failure in self._failures:
            self._say(f"\nThis did not go as it should: {failure}")
        return not self._failures

    # -- the steps ------------------------------------------------------------------------------

    def _prepare(self, authority: CertificateAuthority) -> None:
        """Copy the agent out; a file that is there already is the user's, and stays."""
        folder = self._folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()) and not (folder / "agent.py").exists():
                raise UsageProblem(
                    f"the folder `{folder}` holds something else",
                    hint="name another one: `rerail demo --folder DIR`",
                )
            for source in _job():
                if not (folder / source.name).exists():
                    (folder / source.name).write_bytes(source.read_bytes())
            (folder / "runs").mkdir(mode=0o700, exist_ok=True)
            authority.write(folder / AUTHORITY)
        except OSError as error:
            raise UsageProblem(
                f"cannot write the demo into `{folder}`: {error.strerror}",
                hint="name another folder: `rerail demo --folder DIR`",
            ) from error

    def _introduce(self, servers: Stage) -> None:
        names = list(servers.names)
        self._say(
            f"\nThe agent is {self._folder}/agent.py: it files ticket {TICKET} under the customer"
            f" that it came from.\nIt calls {', '.join(names[:-1])} and {names[-1]}; all of these"
            " are servers on this machine.\nWhat is run below you can type, too:\n"
        )
        self._say(f"   $ cd {shlex.quote(str(self._folder))}")
        if shutil.which("rerail") != str(self._typed.bin / "rerail"):
            self._say(f'   $ export PATH="{self._typed.bin}:$PATH"')
        self._say(f"   $ export OPENAI_API_KEY={KEY} SSL_CERT_FILE={AUTHORITY}")

    def _record(self, servers: Stage) -> Path | None:
        self._say("\n1. At night the task runs, and everything it asks and is told is kept.")
        reach = [
            f"--resolve={name}:443={host}:{port}" for name, (host, port) in servers.names.items()
        ]
        keep = [
            word for name, value in servers.variables.items() for word in ("-e", f"{name}={value}")
        ]
        kept = None
        for attempt in range(1, self._attempts + 1):
            tape = self._new_tape()
            name = str(tape.relative_to(self._folder))
            task = [f"--task={TICKET}", *keep, *reach, "--", *self._agent(servers)]
            servers.desk.filed.clear()
            if attempt == self._attempts and servers.clerk is not None:
                self._say("   (The simulated model was right all night: now it is made to slip.)")
                servers.clerk.slips = True
            status = self._typed.run(["rerail", "record", "-o", name, *task])
            if status >= OWN_FAILURE or not tape.exists():
                break
            if status != 0:
                self._say(f"   The agent gave up (status {status}). The next run of the same task:")
                continue
            kept = tape
            filed = servers.desk.filed.get(TICKET)
            last = attempt == self._attempts or self._kind == "local"
            self._say(_verdict(filed, last=last))
            if last or filed != RIGHT:
                return kept
        if kept is None:
            self._failures.append(f"recording ended with status {status}")
        return kept

    def _replay(self, tape: Path, servers: Stage, told: str) -> None:
        self._say(
            "\n2. In the morning it is replayed. The model and the tools are stopped: nothing below"
            " can reach them,\n   and it costs nothing, however often it is done."
        )
        reached = servers.desk.origin.connections
        self._report.unlink(missing_ok=True)
        status = self._typed.run(["rerail", "replay", str(tape.relative_to(self._folder))])
        if status != 0:
            self._failures.append(f"replaying ended with status {status}, not 0")
        elif self._report.exists() and self._report.read_text() != told:
            self._failures.append("the replayed agent wrote another report")
        else:
            self._say("   The same run to the letter, as often as you like.")
        assert servers.desk.origin.connections == reached

    def _replay_changed(self, tape: Path, servers: Stage) -> None:
        self._say(
            f"\n3. A stricter rule might have helped ({CHANGED}). The same run, with the prompt"
            " changed at turn 3:"
        )
        name = str(tape.relative_to(self._folder))
        agent = [*self._agent(servers), "--rule", CHANGED]
        (self._folder / REPORT).unlink(missing_ok=True)
        status = self._typed.run(["rerail", "replay", "--report", REPORT, name, "--", *agent])
        turn = self._diverged_at()
        if (status, turn) != (1, CHANGED_TURN):
            told = f"diverged at turn {turn}" if turn else "did not diverge"
            self._failures.append(f"the changed agent's replay {told} (status {status})")
        else:
            self._say(
                "   That is where the changed agent stops following the night's run: what the model"
                " would say\n   to the new prompt is not on the tape."
            )

    def _diverged_at(self) -> int | None:
        """The model call at which the last replay left the tape, by its report."""
        try:
            report = json.loads((self._folder / REPORT).read_bytes())
            return int(report["divergence"]["step"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _look_next(self, tape: Path) -> None:
        name = shlex.quote(str(tape.relative_to(self._folder)))
        self._say(f"\nThe tapes are in {self._folder}/runs. What to look at next:\n")
        for command, about in (
            (f"rerail trace {name}", "what broke first, on one screen"),
            (f"rerail steps {name}", "what was told and said"),
            (f"rerail why {name} {WRONG}", "who said that number first"),
            (f"rerail show {name} s3", "the call that chose the customer"),
            (f"rerail verify {name}", "nothing on it was changed"),
            ("rerail replay", "again; edit rule.txt before"),
        ):
            self._say(f"   $ {command:<40}  # {about}")

    # -- inside ---------------------------------------------------------------------------------

    @property
    def _report(self) -> Path:
        return self._folder / "report.md"

    def _agent(self, servers: Stage) -> list[str]:
        return [self._python, "agent.py", *servers.arguments]

    def _new_tape(self) -> Path:
        number = 1
        while (tape := self._folder / "runs" / f"night-{number}.tape").exists():
            number += 1
        return tape


def _job() -> Iterator[Traversable]:
    for source in (resources.files(__package__) / "job").iterdir():
        if source.name.endswith((".py", ".txt")):
            yield source


def _verdict(filed: str | None, *, last: bool) -> str:
    names = {customer["customer_id"]: customer["name"] for customer in CUSTOMERS}
    if filed is None:
        return f"   Ticket {TICKET} was filed under nobody. That is the odd run of the night."
    place = f"   Ticket {TICKET} was filed under {filed} ({names[filed]})"
    if filed != RIGHT:
        return f"{place}; it came from {RIGHT} ({names[RIGHT]}). That is the odd run of the night."
    if last:
        return f"{place}, and rightly so; this night nothing odd happened."
    return f"{place}, and rightly so. The next run of the same task:"
