"""Facts about this machine that agents put into prompts. Not the environment's variables."""

import os
import time
from collections.abc import Mapping
from pathlib import Path


def machine_facts(cwd: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Work path, home, user, host name, kernel, date and time zone, git head: what is known."""
    system = os.uname()
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
        "git_head": _git_head(cwd),
    }
    return {name: value for name, value in facts.items() if value}


def _user_name() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return ""


def _git_head(folder: Path) -> str:
    """The commit that `.git/HEAD` names, read without running git; "" outside a repository."""
    for place in (folder, *folder.parents):
        head = _first_line(place / ".git" / "HEAD")
        if head.startswith("ref: "):
            return _first_line(place / ".git" / head.removeprefix("ref: ")) or head
        if head:
            return head
    return ""


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return ""
