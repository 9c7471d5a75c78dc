"""A program run to its end, within a time: what it said, and how it ended. Knows no protocol."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rerail.launch.command import cannot_start


class Said(Struct, frozen=True):
    """What a program said. `status` is None where it was ended because its time was over."""

    status: int | None
    output: str
    errors: str


def run_once(
    words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], seconds: float
) -> Said:
    """Run it with nothing on standard input; its whole group is killed when its time is over.

    Raises `CommandNotFound`, `CommandNotExecutable`.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except OSError as error:
        raise cannot_start(words[0], words[0], error) from error
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if status is None:
            output, errors = process.communicate()
    return Said(status, output.decode(errors="replace"), errors.decode(errors="replace"))
