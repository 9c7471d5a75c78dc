"""What a tape decides of a replay: everything where its own user recorded it here, else nothing.

A stranger's tape is played all the same, to a command that is given: what runs, where and with
what variables is then not the stranger's to say. Starts nothing.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from rerail.errors import UsageProblem
from rerail.proxy.certs import Authority, default_folder
from rerail.tape.reader import Tape
from rerail.tape.records import RunStarted
from rerail.tape.witness import files_recorded_here, recorded_here
from rerail.workspace.kept import Kept

_SHOWN: Final = 200


def is_known(run: RunStarted, environment: Mapping[str, str]) -> bool:
    """Whether the user of this environment recorded this run on this machine."""
    authority = Authority.open_or_create(default_folder(environment))
    return recorded_here(authority.witness_key, run)


def files_are_known(tape: Tape, environment: Mapping[str, str]) -> bool:
    """The same of the run and of every snapshot of files on its tape."""
    key = Authority.open_or_create(default_folder(environment)).witness_key
    return recorded_here(key, tape.run) and all(
        files_recorded_here(key, tape.run, snapshot) for snapshot in Kept(tape).all
    )


def leave_nothing_to(run: RunStarted, command: Sequence[str], changed: Mapping[str, str]) -> None:
    """Raise `UsageProblem` where a run that is not known would decide something.

    `command` is the one that was given, if any, `changed` the variables that were.
    """
    variables = sorted(set(run.environment) - set(changed))
    if command and not variables:
        return
    would = [] if command else [f"run `{shlex.join(run.argv)[:_SHOWN]}`"]
    would += [f"set {', '.join(variables)[:_SHOWN]}"] if variables else []
    own = "-e NAME=VALUE for each of these" if command else "a command of yours after `--`"
    raise UsageProblem(
        f"this tape was not recorded by you on this machine, and would {' and '.join(would)}",
        hint=f"give {own}; or --trust, once you know what it holds (`rerail show`)",
    )
