"""Whether a replay is green: one rule, and a sentence for each reason why not. Pure.

Green: at least one model call was matched; nothing was refused; no model call of the tape was left
unused; the command ended as recorded; and it was cut off from the network. On a tape without model
calls every request counts as one does on others: one must be matched, and none left unused.
`docs/decisions/0002-what-makes-a-replay-green.md` says why.
"""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rerail.playback.report import Containment, End, Reason, Verdict

_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is judged.

    Side calls are in none of these. The numbers in order name requests of the replay (`refused`,
    `followed`, `live`), and model calls and requests of the tape (`unused_…`; `unused_aside` are
    requests: model calls beside the main ones, which are no steps).
    """

    recorded: int
    recorded_model_calls: int
    matched: int
    matched_model_calls: int
    refused: Sequence[int]
    followed: Sequence[int]
    live: Sequence[int]
    unused_steps: Sequence[int]
    unused_aside: Sequence[int]
    unused_exchanges: Sequence[int]
    ended: End
    recorded_end: End | None
    containment: Containment
    diverged_children: Sequence[int] = ()


def judge(facts: Facts) -> Verdict:
    """Green, or every reason why not."""
    reasons = [reason for rule in _RULES if (reason := rule(facts)) is not None]
    return Verdict(green=not reasons, reasons=reasons)


def _matched(facts: Facts) -> Reason | None:
    if not facts.recorded:
        text = "the tape holds no request that could have been matched"
        return Reason(code="nothing_matched", text=text)
    if not facts.matched:
        text = "nothing was matched: the command asked for nothing that is on the tape"
        return Reason(code="nothing_matched", text=text)
    if facts.recorded_model_calls and not facts.matched_model_calls:
        held = _count(facts.recorded_model_calls, "model call")
        text = f"no model call was matched; the tape holds {held}"
        return Reason(code="no_model_call_matched", text=text)
    return None


def _refused(facts: Facts) -> Reason | None:
    if not facts.refused:
        return None
    one = len(facts.refused) == 1
    count = _count(len(facts.refused), "request")
    which = f"{count} {'was' if one else 'were'} refused: {_names('r', facts.refused)}"
    return Reason(code="refused", text=which)


def _followed(facts: Facts) -> Reason | None:
    if not facts.followed:
        return None
    count, names = _count(len(facts.followed), "request"), _names("r", facts.followed)
    text = f"{count} got the nearest recorded reply instead of their own: {names}"
    return Reason(code="followed", text=text)


def _live(facts: Facts) -> Reason | None:
    if not facts.live:
        return None
    count, names = _count(len(facts.live), "request"), _names("r", facts.live)
    return Reason(code="went_live", text=f"{count} went to the live service: {names}")


def _unused(facts: Facts) -> Reason | None:
    if facts.unused_steps or facts.unused_aside:
        count = _count(len(facts.unused_steps) + len(facts.unused_aside), "recorded model call")
        names = ", ".join(
            _names(letter, numbers)
            for letter, numbers in (("s", facts.unused_steps), ("r", facts.unused_aside))
            if numbers
        )
        return Reason(code="unused_model_calls", text=f"{count} never came: {names}")
    if not facts.recorded_model_calls and facts.unused_exchanges:
        count = _count(len(facts.unused_exchanges), "recorded request")
        names = _names("r", facts.unused_exchanges)
        return Reason(code="unused_requests", text=f"{count} never came: {names}")
    return None


def _ended(facts: Facts) -> Reason | None:
    if facts.recorded_end is None:
        text = "the tape does not say how the command ended, so its end cannot be compared"
        return Reason(code="no_recorded_end", text=text)
    if facts.ended == facts.recorded_end:
        return None
    text = f"the command ended with {_end(facts.ended)}, recorded with {_end(facts.recorded_end)}"
    return Reason(code="ended_otherwise", text=text)


def _contained(facts: Facts) -> Reason | None:
    if facts.containment.level != "not contained":
        return None
    missing = ", ".join(facts.containment.missing)
    text = "the command was not cut off from the network" + (f": {missing}" if missing else "")
    return Reason(code="not_contained", text=text)


def _children(facts: Facts) -> Reason | None:
    if not facts.diverged_children:
        return None
    children = "child" if len(facts.diverged_children) == 1 else "children"
    names = _names("p", facts.diverged_children)
    text = f"the command told its {children} {names} something that is not on the tape"
    return Reason(code="child_diverged", text=text)


_RULES: Final[tuple[Callable[[Facts], Reason | None], ...]] = (
    _refused,
    _followed,
    _live,
    _matched,
    _unused,
    _ended,
    _contained,
    _children,
)


def _end(end: End) -> str:
    if not end.signal:
        return f"status {end.status}"
    try:
        return signal.Signals(end.signal).name
    except ValueError:
        return f"signal {end.signal}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _names(letter: str, numbers: Sequence[int]) -> str:
    shown = ", ".join(f"{letter}{number}" for number in numbers[:_NAMED])
    return f"{shown} …" if len(numbers) > _NAMED else shown
