"""What `verify` says of a tape: findings, and the words for people and for machines. Pure.

Three words are kept apart: *intact* (the bytes agree with each other), *signed* (by a key on a
trust list) and *anchored* (a root is also kept elsewhere).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from rerail.tape.reader import State

Code = Literal[
    "file-damaged",
    "event-missing",
    "event-unreadable",
    "event-misplaced",
    "start-misplaced",
    "end-missing",
    "end-misplaced",
    "seal-malformed",
    "seal-mismatch",
    "truncated",
    "unsealed-tail",
    "content-missing",
    "content-altered",
    "chunks-misfit",
    "content-unnamed",
    "body-unfinished",
    "exchange-unknown",
    "kind-unknown",
    "signature-unchecked",
]
"""What can be found. Each is explained in `spec/tape.md`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `verify` has to say. `breaks`: because of it the tape is not intact."""

    code: Code
    message: str
    seq: int | None = None
    breaks: bool = True


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of `verify`. `sealed` is how many of the `events` a seal covers."""

    path: str
    run_id: str
    state: State | None
    tape_id: str
    parent: str
    events: int
    sealed: int
    contents: int
    findings: tuple[Finding, ...]
    signed: Literal["no", "unchecked"] = "no"
    anchored: Literal["no"] = "no"

    @property
    def intact(self) -> bool:
        """Whether everything that is there agrees with everything else."""
        return not any(finding.breaks for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {"intact": self.intact, **asdict(self)}

    def to_text(self) -> str:
        """For people: the verdict, then what was found, the worst first."""
        worst_first = sorted(self.findings, key=lambda finding: not finding.breaks)
        return "\n".join(
            [
                f"{self.path}: {'intact' if self.intact else 'not intact'}",
                *(f"  {line}" for line in self._facts()),
                *(f"  {'✗' if item.breaks else '·'} {item.message}" for item in worst_first),
            ]
        )

    def _facts(self) -> Iterator[str]:
        events = f"{counted(self.events, 'event')}, {self.sealed} sealed"
        yield f"run {self.run_id}, {events}, {counted(self.contents, 'content')}"
        if self.parent:
            yield f"made from {self.parent}"
        if self.tape_id:
            yield f"id {self.tape_id}"
        yield f"signed: {self.signed}, anchored: {self.anchored}"


def counted(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
