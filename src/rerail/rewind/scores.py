"""How good a run's files were at each step, by the word of a check command. Judges no conversation.

The check is run for real, by the shell, in a copy of the folder as it was at the step. It sees that
at the recorded path and is kept in it as a replay's command is. The copies are made one after the
other and checked side by side; equal trees are checked once.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from rerail.errors import NotOnTape, UsageProblem, UserError
from rerail.launch.aside import Aside, Said
from rerail.playback.place import Choose
from rerail.playback.scratch import Scratch
from rerail.playback.strangers import files_are_known
from rerail.rewind.moments import END, Moments
from rerail.sandbox.choose import Sandbox
from rerail.sandbox.levels import Containment, Refused
from rerail.sandbox.view import passing_folders
from rerail.tape.reader import Tape

NOT_STARTED: Final = (126, 127)
"""What a shell says of a program that it cannot run, or that is not there (POSIX, XCU 2.8.2)."""

SECONDS: Final = 300.0
"""A run of a check may take so long, where nothing else is said."""

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

    def score(self, said: Said, seconds: float = SECONDS) -> "Score":
        """What a run of the check says, which had so long."""
        text = said.output.decode("utf-8", "replace")
        if said.timed_out:
            return Score(said.status, None, f"not done within {seconds:g} s", text, timed_out=True)
        if said.cut:
            return Score(said.status, None, "it said more than is read", text)
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

    `status` is None where the check was not run. `refused` is what it tried in vain.
    """

    status: int | None
    errors: int | None
    why: str = ""
    output: str = ""
    timed_out: bool = False
    refused: tuple[Refused, ...] = ()


@dataclass(slots=True)
class Scores:
    """The scores of a tape by step, at `END` that of the run's end.

    `containment` is what the check was kept by, where it was run.
    """

    check: Check
    at: dict[int, Score] = field(default_factory=dict)
    containment: Containment | None = None

    @property
    def best(self) -> int | None:
        """The last step with the fewest errors; None where no step has a score."""
        known = [
            (-score.errors, step)
            for step, score in self.at.items()
            if step != END and score.errors is not None
        ]
        return max(known)[1] if known else None

    @property
    def refused(self) -> list[Refused]:
        """What the check tried in vain, each thing once."""
        found = {(one.what, one.target): one for score in self.at.values() for one in score.refused}
        return list(found.values())


@dataclass(frozen=True, slots=True)
class Checking:
    """How checks are run: with which variables, how many at once, and who is told (done, all).

    Each for at most so many `seconds`. `choose` gives the sandbox; None: nothing keeps them.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 0
    trusted: bool = False
    seconds: float = SECONDS
    choose: Choose | None = None
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
    with _Checkers(tape, check, how) as checkers:
        for digest, score in checkers.scores(moments, trees).items():
            scores.at |= dict.fromkeys(trees[digest], score)
        scores.containment = checkers.containment
    _complain_if_it_never_started(check, scores)
    return scores


class _Checkers:
    """Runs of one check, each in a copy of its own; use it in a `with` block."""

    def __init__(self, tape: Tape, check: Check, how: Checking) -> None:
        self._recorded = Path(tape.run.cwd)
        self._check = check
        self._how = how
        self._stack = ExitStack()
        self._running: dict[Future[Score], tuple[bytes, Scratch]] = {}
        self.containment: Containment | None = None

    def __enter__(self) -> Self:
        # In this order: what still runs is ended before its thread is waited for.
        self._jobs = self._how.jobs or os.cpu_count() or 1
        self._copies = self._stack.enter_context(ExitStack())
        self._pool = self._stack.enter_context(ThreadPoolExecutor(self._jobs))
        self._aside = self._stack.enter_context(Aside())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def scores(self, moments: Moments, trees: Mapping[bytes, list[int]]) -> dict[bytes, Score]:
        """The scores of trees by digest; each stands for the steps that have it."""
        scores: dict[bytes, Score] = {}

        def collect(at_most: int) -> None:
            while len(self._running) > at_most:
                for done in wait(self._running, return_when=FIRST_COMPLETED).done:
                    digest, scratch = self._running.pop(done)
                    scratch.close()
                    scores[digest] = done.result()
                    self._how.told(len(scores), len(trees))

        self._how.told(0, len(trees))
        for digest, steps in trees.items():
            collect(self._jobs - 1)
            self._begin(digest, self._copies.enter_context(_copy(moments, steps[0])))
        collect(0)
        return scores

    def _begin(self, digest: bytes, scratch: Scratch) -> None:
        how, folder, sandbox = self._how, self._recorded, None
        if how.choose is not None:
            passing = passing_folders(how.environment)
            sandbox = how.choose(binds=scratch.binds, writable=[], private=passing)
            self.containment = sandbox.containment
        copied = scratch.place_of(folder)
        here = copied.is_dir() and copied != folder
        if sandbox is None or not sandbox.view.binds:
            scratch.show_by_links()
            folder = copied if here else scratch.workspace.place
        elif not here:
            folder = scratch.workspace.recorded
        job = self._pool.submit(self._score, folder, sandbox)
        self._running[job] = digest, scratch

    def _score(self, folder: Path, sandbox: Sandbox | None) -> Score:
        how, line = self._how, self._check.command
        said = self._aside.shell(
            line, folder, how.environment, seconds=how.seconds, sandbox=sandbox
        )
        score = self._check.score(said, how.seconds)
        return replace(score, refused=sandbox.refused) if sandbox else score


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
