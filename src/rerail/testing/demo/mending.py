"""The second half of the demo: the odd run is traced, rewound with a hint, and kept as a test."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rerail.holds import Holds
from rerail.testing.ca import CertificateAuthority
from rerail.testing.demo.desk import RIGHT, TICKET
from rerail.testing.demo.stage import Kind, Stage, stage
from rerail.testing.demo.typed import Typed

HINT: Final = "The mail domain of the sender names the customer."
STEP: Final = "s3"
STRICT: Final = "rule-strict.txt"
CASE: Final = "case"


class Mending:
    """What is done about a run that went wrong; `agent` is its command."""

    def __init__(self, typed: Typed, kind: Kind, tape: Path, agent: Sequence[str]) -> None:
        self._typed = typed
        self._kind = kind
        self._tape = str(tape.relative_to(typed.folder))
        self._name = tape.stem
        self._agent = list(agent)
        self._case = tape.with_name(f"{CASE}-{tape.stem}").absolute()
        self._failures: list[str] = []

    def walk(self, authority: CertificateAuthority) -> list[str]:
        """Go through it; returns what did not go as it should."""
        try:
            self._trace()
            with stage(self._kind, authority) as servers:
                self._rewind(servers)
            self._keep()
        finally:
            self._release()
        return self._failures

    def _trace(self) -> None:
        self._typed.say(
            "\n4. Where did it go wrong, and what reached the outside? From the records alone."
            "\n   Until that is settled, no other run of the task starts by itself."
        )
        case = str(self._case.relative_to(self._typed.folder.absolute()))
        question = f"Why was ticket {TICKET} filed as it was?"
        self._must(0, "rerail", "trace", "open", self._tape, "--question", question, "-o", case)
        self._typed.run(["rerail", "trace", "diagnose", case])
        self._typed.run(["rerail", "trace", "safety", case])

    def _rewind(self, servers: Stage) -> None:
        self._typed.say(
            "\n5. Back to the step at which the customer was chosen, with a hint, and on from there"
            " live:\n   what came before is taken from the tape, and costs nothing."
        )
        reach = [
            f"--resolve={name}:443={host}:{port}" for name, (host, port) in servers.names.items()
        ]
        allowed = ["--allow", "POST tickets.example.com/tickets"]
        fork = f"runs/{self._name}-mended.tape"
        self._must(
            0, "rerail", "rewind", self._tape, "--to", STEP, "--hint", HINT, *allowed,
            "--despite-hold", "the case is being mended", "-o", fork, "--force", *reach,
        )  # fmt: skip
        filed = servers.desk.filed.get(TICKET)
        if filed == RIGHT:
            self._typed.say(f"   This time ticket {TICKET} was filed under {RIGHT}, rightly.")
        else:
            where = f"under {filed}" if filed else "as before"
            self._typed.say(f"   This time it was filed {where}: the hint did not help.")
            if self._kind == "simulated":
                self._failures.append("the hint did not help")

    def _keep(self) -> None:
        self._typed.say(
            f"\n6. The rule is mended for good ({STRICT}), and the run is kept as a test: the agent"
            " must not do\n   again what it did at that step."
        )
        case = str(self._case.relative_to(self._typed.folder.absolute()))
        test = ["rerail", "test", self._tape, "--at", STEP, "--case", case, "-o", "tests"]
        self._must(0, *test, "--force", "--", *self._agent, "--rule", STRICT)
        if importlib.util.find_spec("pytest") is None:
            self._typed.say("   It is not run here: pytest is not installed.")
            return
        self._must(0, Path(sys.executable).name, "-m", "pytest", "-q", "tests")

    def _release(self) -> None:
        """The task may run again: this demo leaves no hold behind, whatever went wrong in it."""
        with Holds.open(os.environ) as holds:
            mine = [
                hold.id for hold in holds.on(task_id=TICKET) if Path(hold.case_folder) == self._case
            ]
        for hold in mine:
            self._must(
                0, "rerail", "runs", "release", hold, "--reason", "mended, and kept as a test"
            )

    def _must(self, status: int, *command: str) -> None:
        found = self._typed.run(command)
        if found != status:
            self._failures.append(f"`{' '.join(command[:2])}` ended with status {found}")
