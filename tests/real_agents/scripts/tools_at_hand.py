"""The three tools of the agents here, and one that fails: plain functions."""

import subprocess
from pathlib import Path


def read_file(file_path: str) -> str:
    """Read a file."""
    return Path(file_path).read_text()


def edit(file_path: str, old_string: str, new_string: str) -> str:
    """Replace a text in a file."""
    path = Path(file_path)
    path.write_text(path.read_text().replace(old_string, new_string))
    return "done"


def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr
