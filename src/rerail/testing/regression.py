"""A regression test made of a tape: the text of its file, and its data. Runs nothing."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rerail.errors import UserError
from rerail.tape.reader import Tape
from rerail.testing.verdicts import END, Expect
from rerail.whole_file import SHARED, replace_whole

TAPES: Final = "tapes"
"""The folder beside the tests in which their tapes lie."""

_ASSERTS: Final = {
    "avoid": 'assert replayed_run.avoids("{at}")',
    "reproduce": 'assert replayed_run.reproduces("{at}")',
    "follow": "assert replayed_run.follows()",
}
_NAMES: Final = {"avoid": "does_not_go_wrong_again", "reproduce": "goes_wrong", "follow": "follows"}
_MEANS: Final = {
    "avoid": "Today's code follows it up to {at}, and does not do that again.",
    "reproduce": "Today's code does {at} again, as recorded.",
    "follow": "Today's code follows it to its end, and ends as it did.",
}
_FILE: Final = '''"""Made by `rerail test` of the run {run_id}.

Tape {tape_id}.{link}
"""

import pytest

from rerail.testing.plugin import ReplayedRun


@pytest.mark.tape(
    "{tapes}/{name}.tape",
    command={command},
    folder={folder},
)
def test_{identifier}_{does}(replayed_run: ReplayedRun) -> None:
    """{means}"""
    {asserts}
'''


@dataclass(frozen=True, slots=True)
class Regression:
    """A test to be made of a tape. `case` is the folder of the investigation that asked for it."""

    name: str
    command: list[str]
    expect: Expect
    at: str = END
    case: str = ""

    @property
    def file(self) -> str:
        """The name of the test's file."""
        return f"test_{self._identifier}.py"

    @property
    def _identifier(self) -> str:
        return re.sub(r"\W+", "_", self.name, flags=re.ASCII).strip("_").lower() or "run"

    def text(self, tape: Tape, folder: str) -> str:
        """The test's file; `folder` is where the project is, seen from it."""
        at = "what it ended with" if self.at == END else self.at
        return _FILE.format(
            run_id=_words(tape.run.run_id),
            tape_id=tape.id,
            link=f" Case {_words(self.case)}." if self.case else "",
            tapes=TAPES,
            name=self._identifier,
            command=_list(self.command),
            folder=json.dumps(folder),
            identifier=self._identifier,
            does=_NAMES[self.expect],
            means=_MEANS[self.expect].format(at=at),
            asserts=_ASSERTS[self.expect].format(at=self.at),
        )

    def write(
        self, tape: Tape, folder: Path, *, project: Path, overwrite: bool
    ) -> tuple[Path, Path]:
        """Write the test and a copy of the tape; returns both paths.

        Raises UserError where one is there already, OSError.
        """
        test = folder / self.file
        data = folder / TAPES / f"{self._identifier}.tape"
        for path in (test, data):
            if path.exists() and not overwrite:
                raise UserError(
                    f"{path} is there already", hint="give another --name, or --force to replace it"
                )
        data.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(data, tape.path.read_bytes(), mode=SHARED)
        replace_whole(test, self.text(tape, os.path.relpath(project, folder)).encode(), mode=SHARED)
        return test, data


def _list(command: list[str]) -> str:
    if sum(map(len, command)) < 60:
        return json.dumps(command)
    return "[\n" + "".join(f"        {json.dumps(word)},\n" for word in command) + "    ]"


def _words(text: str) -> str:
    """A stranger's text, fit to stand inside a docstring."""
    return "".join(c if c.isalnum() or c in " .:-_/" else "?" for c in text)
