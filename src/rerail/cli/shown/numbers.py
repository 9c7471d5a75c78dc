"""Numbers as people write them: `e12` (or `12`) an event, `r3` an exchange, `s4` a step.

`p5` is a child process. What is not there is answered with what is.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from rerail.cli.shown.children import Child
from rerail.cli.shown.outline import Outline
from rerail.errors import NotOnTape, UsageProblem
from rerail.tape.exchange import Exchange

Kind = Literal["e", "r", "s", "p"]

_KINDS: Final[dict[str, Kind]] = {"": "e", "e": "e", "r": "r", "s": "s", "p": "p"}
_NOUNS: Final[dict[Kind, str]] = {"e": "event", "r": "exchange", "s": "step", "p": "child"}

_PLURALS: Final = {"child": "children"}


@dataclass(frozen=True, slots=True)
class Number:
    """One number: of what, and which."""

    kind: Kind
    value: int

    def __str__(self) -> str:
        return f"{self.kind}{self.value}"


def read_number(text: str) -> Number:
    """Read a number. Raises UsageProblem."""
    found = re.fullmatch(r"([ersp]?)([1-9][0-9]{0,17})", text)
    if found is None:
        raise UsageProblem(
            f"`{text}` is no number of an event, an exchange, a step or a child",
            hint="write e12 (or 12) for an event, r3 for an exchange, s4 for a step, p5 for a "
            "child",
        )
    return Number(_KINDS[found[1]], int(found[2]))


def exchanges_of(outline: Outline, number: Number) -> list[Exchange]:
    """The exchange of an `r` number; the attempts of an `s` number. Raises NotOnTape."""
    if number.kind == "s":
        found = outline.of_step(number.value)
    else:
        found = [item for item in outline.exchanges if item.exchange_id == number.value]
    if not found:
        raise not_there(number, _existing(outline, number.kind))
    return found


def child_of(outline: Outline, number: Number) -> Child:
    """The child process of a `p` number. Raises NotOnTape."""
    found = outline.children.get(number.value)
    if found is None:
        numbers = sorted(outline.children)
        raise not_there(number, range(numbers[0], numbers[-1] + 1) if numbers else range(0))
    return found


def check_event(number: Number, last: int) -> None:
    """Raises NotOnTape where a tape with `last` events has none of that number."""
    if number.value > last:
        raise not_there(number, range(1, last + 1))


def not_there(number: Number, existing: range) -> NotOnTape:
    """The error for a number that is not on the tape, with those that are."""
    noun = _NOUNS[number.kind]
    nouns = _PLURALS.get(noun, f"{noun}s")
    if not existing:
        return NotOnTape(
            f"there is no {noun} {number} on this tape",
            hint=f"it has no {nouns}; `rerail show TAPE` shows what it has",
        )
    first, last = f"{number.kind}{existing[0]}", f"{number.kind}{existing[-1]}"
    there = f"{nouns} {first} to {last}" if first != last else f"only {noun} {first}"
    return NotOnTape(f"there is no {noun} {number} on this tape", hint=f"it has {there}")


def _existing(outline: Outline, kind: Kind) -> range:
    if kind == "s":
        numbers = [step for attempt in outline.steps.values() for step in attempt.steps]
    else:
        numbers = [item.exchange_id for item in outline.exchanges]
    return range(min(numbers), max(numbers) + 1) if numbers else range(0)
