"""Which files a contract's commands name, by content: an approval is for these. Starts nothing.

A file that a program loads besides is not known here: what is named in no command is not covered.
"""

import json
import os
import re
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path
from typing import Final

from rerail.task.contract import Contract, words

_APART: Final = re.compile(r"[\s'\"`;|&<>()=,]+")
"""What stands between two names in a word that is a line of a shell."""


def programs_of(contract: Contract, home: Path) -> dict[str, str]:
    """The files in the contract's folder that the checker's and the target's commands name.

    Each as `sha256:…` by its path there.
    """
    found: dict[str, str] = {}
    for name in _named(contract, home):
        path = Path(os.path.normpath(home / name))
        if path.is_relative_to(home) and path.is_file():
            found.setdefault(str(path.relative_to(home)), _digest(path))
    return dict(sorted(found.items()))


def in_json(programs: dict[str, str]) -> str:
    """The same as one text."""
    return json.dumps(programs, ensure_ascii=True, sort_keys=True)


def others(asked: str, now: dict[str, str]) -> list[str]:
    """The files that are not those that were asked for, by their paths."""
    before: dict[str, str] = json.loads(asked or "{}")
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _named(contract: Contract, home: Path) -> Iterator[str]:
    target = contract.target
    parts = (target.apply, target.read, target.reconcile) if target is not None else ()
    for part in (contract.checker, *parts):
        for word in words(part.command if part is not None else [], str(home)):
            yield from (word, *filter(None, _APART.split(word)))


def _digest(path: Path) -> str:
    """Of one that cannot be read, nothing: then it is another as soon as it can."""
    try:
        with path.open("rb") as file:
            return f"sha256:{file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return ""
