"""How good a run's files were at each step, by the word of a check command. Judges no conversation.

The check is run for real, by the shell, in a copy of the folder as it was at the step. The copies
are made one after the other and checked side by side; equal trees are checked once.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rerail.errors import NotOnTape, UsageProblem, UserError
from rerail.launch.aside import Aside, Said
from rerail.playback.scratch import Scratch
from rerail.playback.strangers import files_are_known
from rerail.rewind.moments import END, Moments
from rerail.tape.reader import Tape

NOT_STARTED: Final = (126, 127)
"""What a shell says of a program that it cannot run, or that is not there (POSIX, XCU 2.8.2)."""

_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Check:
    """A command line for the shell, and what of its output counts as an error.

    Without `count` the exit status says it: none where it is 0, else one.
    """

    command: str
    count: re.Pattern[str] | None = None

    @classmethod
    def parse(cls, command: str, count: str | None = None) -> "Check":
        """Raises UsageProblem."""
        if not command.strip():
            raise UsageProblem(
                "the check is empty", hint="write --check COMMAND: --check 'npx tsc --noEmit'"
            )
        try:
            return cls(command, re.compile(count) if count is not None else None)
        except re.error as error:
            raise UsageProblem(
                f"`{count}` is no regular expression: {error}",
                hint="it is Python's kind: --count 'error TS'",
            ) from error

    def score(self, said: Said) -> "Score":
        """What a run of the check says."""
        text = said.output.decode("utf-8", "replace")
        if said.status in NOT_STARTED:
            return Score(said.status, None, "the check did not start", text)
        if self.count is None:
            return Score(said.status, 0 if said.status == 0 else 1, "", text)
        errors = sum(self.count.search(line) is not None for line in text.splitlines())
        if errors == 0 and said.status != 0:
            # A check that breaks off counts nothing, and would look like the best of all.
            return Score(said.status, None, f"status {said.status}, and nothing counted", text)
        return Score(said.status, errors, "", text)


@dataclass(frozen=True, slots=True)
class Score:
    """What the check said of one tree. `errors` is None where it said nothing, and `why` why not.

    `status` is None where the check was not run.
    """

    status: int | None
    errors: int | None
    why: str = ""
    output: str = ""


@dataclass(slots=True)
class Scores:
    """The scores of a tape by step, at `END` that of the run's end."""

    check: Check
    at: dict[int, Score] = field(default_factory=dict)

    @property
    def best(self) -> int | None:
        """The last step with the fewest errors; None where no step has a score."""
        known = [
            (-score.errors, step)
            for step, score in self.at.items()
            if step != END and score.errors is not None
        ]
        return max(known)[1] if known else None


@dataclass(frozen=True, slots=True)
class Checking:
    """How checks are run: with which variables, how many at once, and who is told (done, all)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 0
    trusted: bool = False
    told: Callable[[int, int], None] = lambda done, all_: None


def score_tape(
    tape: Tape, moments: Moments, check: Check, how: Checking, steps: Iterable[int] | None = None
) -> Scores:
    """Run the check at these steps, by default at all and at the end.

    Raises:
        UserError: It starts nowhere; the tape is a stranger's and not trusted; it has no snapshots.
    """
    if not how.trusted and not files_are_known(tape, how.environment):
        raise UsageProblem(
            "this tape was not recorded by you on this machine, and a check would run in its files",
            hint="--trust, once you know what it holds (`rerail show TAPE --files start`)",
        )
    chosen = moments.at if steps is None else steps
    wanted = {step: moments.at[step] for step in chosen if step in moments.at}
    if not moments.at:
        raise NotOnTape(
            "there are no snapshots of files to check on this tape",
            hint=f"workspace: {tape.run.capture.get('workspace', 'it was recorded without')}",
        )
    scores = Scores(check)
    trees: dict[bytes, list[int]] = {}
    for step, snapshot in wanted.items():
        if snapshot.inconsistent:
            scores.at[step] = Score(None, None, "the files changed while they were read")
        else:
            trees.setdefault(snapshot.tree, []).append(step)
    for digest, score in _checked(tape, moments, check, how, trees).items():
        scores.at |= dict.fromkeys(trees[digest], score)
    _complain_if_it_never_started(check, scores)
    return scores


def _checked(
    tape: Tape, moments: Moments, check: Check, how: Checking, trees: Mapping[bytes, list[int]]
) -> dict[bytes, Score]:
    jobs = how.jobs or os.cpu_count() or 1
    scores: dict[bytes, Score] = {}
    running: dict[Future[Said], tuple[bytes, Scratch]] = {}

    def collect(at_most: int) -> None:
        while len(running) > at_most:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                digest, scratch = running.pop(done)
                scratch.close()
                scores[digest] = check.score(done.result())
                how.told(len(scores), len(trees))

    how.told(0, len(trees))
    # In this order: what still runs is ended before its thread is waited for and its copy removed.
    with ExitStack() as copies, ThreadPoolExecutor(jobs) as pool, Aside() as aside:
        for digest, steps in trees.items():
            collect(jobs - 1)
            scratch = copies.enter_context(_copy(moments, steps[0]))
            folder = scratch.place_of(Path(tape.run.cwd))
            folder = folder if folder.is_dir() else scratch.workspace.place
            job = pool.submit(aside.shell, check.command, folder, how.environment)
            running[job] = digest, scratch
        collect(0)
    return scores


def _copy(moments: Moments, step: int) -> Scratch:
    try:
        return Scratch.at(moments.kept, moments.at[step])
    except OSError as error:
        raise UserError(
            f"cannot make a copy of the recorded folder: {error.strerror or error}",
            hint="set TMPDIR to a folder with room",
        ) from error


def _complain_if_it_never_started(check: Check, scores: Scores) -> None:
    statuses = {score.status for score in scores.at.values()}
    if not statuses & set(NOT_STARTED) or statuses - {None, *NOT_STARTED}:
        return
    said = next(score.output for score in scores.at.values() if score.status in NOT_STARTED)
    lines = said.strip().splitlines() or ["the shell does not say why"]
    raise UserError(
        f"the check `{check.command}` does not start at any step: {lines[-1][:_SHOWN]}",
        hint="it is run by sh in a copy of the recorded folder: name a program of PATH or of it",
    )
