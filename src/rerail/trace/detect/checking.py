"""Which calls of an agent check something, and whether the check was content. Judges no run."""

import re
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.outcome import is_error
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.values import canonical

_NAMES: Final = frozenset(
    ("test", "tests", "check", "checks", "verify", "validate", "lint", "compile", "build")
)
_RUNS: Final = re.compile(
    r"\b(pytest|unittest|jest|vitest|mocha|tsc|mypy|ruff|eslint|(npm|yarn|pnpm) (run )?test|"
    r"(go|cargo|make|gradle|mvn) (test|check|lint|build|verify))\b"
)
_SHELLS: Final = frozenset(("bash", "shell", "sh", "exec", "run", "command", "terminal", "cmd"))
_FAILED: Final = re.compile(
    r"\b[1-9]\d* (failed|failures?|errors?)\b|\bFAILED\b|\bexit(ed)?( with)?( code| status)? [1-9]|"
    r"^Traceback \(most|Error:|✗",
    re.MULTILINE,
)
_LOOKED_AT: Final = 2000


def is_check(call: Call) -> bool:
    """Whether a call checks something: by the tool's name, or by the program that a shell runs."""
    words = words_of(call.name)
    if not _SHELLS.isdisjoint(words) and _RUNS.search(canonical(call.call.arguments)[:_LOOKED_AT]):
        return True
    return not _NAMES.isdisjoint(words)


def runs_anything(call: Call) -> bool:
    """Whether it is a shell, that may do whatever it is told."""
    return not _SHELLS.isdisjoint(words_of(call.name))


def went_well(call: Call) -> bool:
    """Whether a check's answer has nothing to object to, as far as its words tell."""
    return not (is_error(call) or _FAILED.search(call.told))
