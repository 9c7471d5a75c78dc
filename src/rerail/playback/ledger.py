"""What happened in a replay, written down as it happens. Decides nothing."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from rerail.playback.report import BoundByArrival, Divergence, OutOfOrder

Answered = Literal["exact", "equivalent", "side call", "refused", "followed", "live"]


@dataclass(slots=True)
class Ledger:
    """Requests of a replay in order, and how each was answered.

    `answered` maps the replay's request number to how; `matched` holds the exchanges that were
    matched (side calls and followed replies are not); `rules` counts the requests that needed a
    rule, `turns` the messages (by their recorded events) that made a model generate, `echoed` the
    requests whose replies were given in the agent's own identifiers.
    """

    requests: int = 0
    answered: dict[int, Answered] = field(default_factory=dict)
    matched: set[int] = field(default_factory=set)
    rules: Counter[str] = field(default_factory=Counter)
    divergences: list[Divergence] = field(default_factory=list)
    out_of_order: list[OutOfOrder] = field(default_factory=list)
    bound_by_arrival: list[BoundByArrival] = field(default_factory=list)
    turns: set[int] = field(default_factory=set)
    echoed: set[int] = field(default_factory=set)
    notes: Counter[str] = field(default_factory=Counter)

    def next_request(self) -> int:
        """Number a request."""
        self.requests += 1
        return self.requests

    def numbers(self, how: Answered) -> list[int]:
        """The requests that were answered so, in order."""
        return [number for number, answered in self.answered.items() if answered == how]
