"""Facts about this machine that agents put into prompts. Not the environment's variables.

A recording keeps them, a replay compares its own with them. Starts nothing.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path


def machine_facts(cwd: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Work path, home, user, host name, kernel, date and time zone, git's state: what is known."""
    system = os.uname()
    head, branch = _git_state(cwd)
    facts = {
        "cwd": str(cwd),
        "home": environment.get("HOME", ""),
        "user": _user_name() or environment.get("USER", ""),
        "host": system.nodename,
        "system": system.sysname,
        "kernel": system.release,
        "machine": system.machine,
        "date": time.strftime("%Y-%m-%d"),
        "timezone": time.strftime("%Z%z"),
        "timezone_name": environment.get("TZ", "").removeprefix(":") or _zone_name(),
        "git_head": head,
        "git_branch": branch,
    }
    return {name: value for name, value in facts.items() if value}


def _user_name() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return ""


def _zone_name() -> str:
    """The zone that `/etc/localtime` leads to, as in `Europe/Berlin`; "" where it is a file."""
    try:
        return str(Path("/etc/localtime").readlink()).partition("zoneinfo/")[2]
    except OSError:
        return ""


def _git_state(folder: Path) -> tuple[str, str]:
    """The commit and the branch of the repository around a folder, read without running git.

    A branch without a commit has only its name; a commit that is checked out by itself no branch.
    """
    for place in (folder, *folder.parents):
        git = _git_folder(place)
        head = _first_line(git / "HEAD")
        if head.startswith("ref: "):
            name = head.removeprefix("ref: ")
            shared = git / (_first_line(git / "commondir") or ".")
            commit = _first_line(shared / name) or _packed(shared, name)
            return commit, name.removeprefix("refs/heads/")
        if head:
            return head, ""
    return "", ""


def _git_folder(place: Path) -> Path:
    """`.git`, or where that file of a linked worktree leads to."""
    git = place / ".git"
    linked = _first_line(git).removeprefix("gitdir: ")
    return place / linked if linked else git


def _packed(git: Path, name: str) -> str:
    """The commit of a branch that stands in `packed-refs`, as after a clone."""
    try:
        lines = (git / "packed-refs").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return ""
