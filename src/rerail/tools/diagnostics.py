"""What a checker said of some files, as plain facts, and where two readings do not agree.

Knows no checker. That a disagreement speaks against the check is for others to conclude.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "note"]
Way = Literal["kept", "cold"]
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One thing a checker said. `path` is empty where it is about no file, lines count from 1.

    Columns count from 1 as the checker counts them (UTF-16 units).
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        place = f"{self.path}({self.line},{self.column}): " if self.path else ""
        return f"{place}{self.severity} {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer: which checker, in which version, in which way, what it said, how long it took."""

    tool: str
    version: str
    way: Way
    diagnostics: tuple[Diagnostic, ...]
    took_ns: int = 0

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What makes the files wrong; warnings and notes do not."""
        return tuple(each for each in self.diagnostics if each.severity == "error")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two readings of the same files that do not agree.

    The category is that of a finding: whoever makes one of it says *check*.
    """

    tool: str
    version: str
    only_kept: tuple[Diagnostic, ...]
    only_cold: tuple[Diagnostic, ...]
    category: Literal["check"] = "check"

    @property
    def what(self) -> str:
        """In one sentence."""
        kept, cold = _some(self.only_kept), _some(self.only_cold)
        return (
            f"{self.tool} {self.version}, kept running, and its cold run do not agree: "
            f"only the kept one said {kept}; only the cold one said {cold}"
        )


@dataclass(frozen=True, slots=True)
class Both:
    """The quick answer and the one that counts, side by side."""

    kept: Reading
    cold: Reading

    @property
    def mismatch(self) -> Mismatch | None:
        """Where they differ, each diagnostic counted as often as it was said."""
        kept, cold = Counter(self.kept.diagnostics), Counter(self.cold.diagnostics)
        if kept == cold:
            return None
        only_kept, only_cold = sorted((kept - cold).elements()), sorted((cold - kept).elements())
        return Mismatch(self.cold.tool, self.cold.version, tuple(only_kept), tuple(only_cold))


def tidied(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order, each once: a global error comes with every question."""
    return tuple(sorted(set(diagnostics)))


def _some(diagnostics: tuple[Diagnostic, ...]) -> str:
    if not diagnostics:
        return "nothing"
    shown = "; ".join(str(each).partition("\n")[0] for each in diagnostics[:_SHOWN])
    more = len(diagnostics) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
