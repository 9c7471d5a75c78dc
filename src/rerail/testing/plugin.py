"""The pytest plug-in: a tape played to today's code, offline, as a test.

    @pytest.mark.tape("task-1841.tape", command=["python3", "agent.py", "--task", "1841"])
    def test_task_1841(replayed_run):
        assert replayed_run.avoids("r6")

Paths are relative to the test's file. The command runs in a copy of the recorded folder with the
present files of `folder` on top, by default pytest's root folder, under `rerail replay`, in a
process of its own.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from rerail.testing.verdicts import Expect, Judgement

MARK: Final = (
    "tape(path, command=None, folder=None, options=()): play this tape to the command, for "
    "`replayed_run`"
)

SHOWN: Final = "rerail"
"""The property of a test that says what its replay showed: `avoided`, `again` or `nothing`."""


@dataclass(frozen=True, slots=True, repr=False)
class ReplayedRun:
    """A replay that is over. `report` is that of `rerail replay --json`, `said` its own words.

    `note` is told what each judgement shows, as a name and a value; `tell` what a person may need
    of one that does not hold.
    """

    report: Mapping[str, Any]
    said: str
    command: str
    note: Callable[[str, str], None] = lambda name, value: None
    tell: Callable[[str], None] = lambda text: None

    def __repr__(self) -> str:
        return "the replayed run"  # pytest shows it beside each judgement of it

    def avoids(self, at: str, *, refusal: str = "") -> "Judgement":
        """Whether all before `at` (`r6`, `s3`, `end`) was followed, and that not done again.

        `refusal` is what the command says where its guard refuses: an end before `at` without it is
        none. Where it is not given, a command that broke down with an exception refused nothing.
        """
        return self._judged("avoid", at, refusal)

    def reproduces(self, at: str) -> "Judgement":
        """Whether that was done again as recorded."""
        return self._judged("reproduce", at)

    def follows(self) -> "Judgement":
        """Whether the whole tape was followed, and the command ended as recorded."""
        return self._judged("follow", "end")

    def _judged(self, expect: "Expect", at: str, refusal: str = "") -> "Judgement":
        from rerail.testing.verdicts import Words, judge

        found = judge(self.report, expect, at, Words(self.said, refusal))
        self.note(
            SHOWN, "nothing" if found.again is None else "again" if found.again else "avoided"
        )
        found = replace(found, more=f"{self.said}\nby: {self.command}")
        if not found:
            self.tell(found.more)
        return found


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", MARK)


@pytest.fixture
def replayed_run(request: pytest.FixtureRequest) -> ReplayedRun:
    """The tape of the test's mark, played to the end."""
    mark = request.node.get_closest_marker("tape")
    if mark is None or not mark.args:
        raise pytest.UsageError("`replayed_run` needs @pytest.mark.tape(PATH)")
    tape = request.path.parent / mark.args[0]
    command = list(mark.kwargs.get("command") or [])
    named = mark.kwargs.get("folder")
    folder = (request.path.parent / named).resolve() if named else request.config.rootpath
    # What is in a repository is trusted as its code is.
    options = ["--trust", "--present", str(folder), *mark.kwargs.get("options", ())]
    run = replay(tape, command, folder=folder, options=options)
    return replace(
        run,
        note=lambda *noted: request.node.user_properties.append(noted),
        tell=lambda text: request.node.add_report_section("call", "rerail", text),
    )


def replay(tape: Path, command: list[str], *, folder: Path, options: list[str]) -> ReplayedRun:
    """Replay a tape in a process of its own. Raises AssertionError where it could not start."""
    words = [sys.executable, "-m", "rerail.cli", "replay", str(tape), *options, "--json"]
    words += ["--", *command] if command else []
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    said = done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 1), f"the tape could not be replayed\n{said}"
    return ReplayedRun(json.loads(done.stdout), said, shlex.join(["rerail", *words[3:]]))
