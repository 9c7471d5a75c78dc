"""All model calls of a tape as they are named: steps, calls beside them, replies that are whole.

What every reader of a tape asks, so that `s4` is one call wherever it is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rerail.errors import RerailError
from rerail.llm.bodies import read_bodies
from rerail.llm.endings import whole_replies
from rerail.llm.lanes import lanes
from rerail.llm.steps import Attempt, call_of, steps
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """By exchange id: `steps` the main model calls, `aside` the lanes of those beside them.

    `whole` are the exchanges whose agent left after the last event of the reply.
    """

    steps: dict[int, Attempt] = field(default_factory=dict)
    aside: dict[int, str] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """How many model calls there are; attempts at one are one, and so is each turn."""
        numbers = {step for attempt in self.steps.values() for step in attempt.steps}
        return len(numbers) + len(self.aside)


def model_calls(
    tape: Tape,
    exchanges: Sequence[Exchange],
    *,
    damaged: Callable[[RerailError], object] = lambda error: None,
) -> ModelCalls:
    """The model calls among a tape's exchanges; `damaged` is told of bodies that cannot be read."""
    whole = whole_replies(exchanges, tape.blob)
    calls = [
        (exchange, call)
        for exchange in exchanges
        if not exchange.websocket and (call := call_of(exchange)) is not None
    ]
    aside = lanes(calls, lambda exchange: read_bodies(tape, exchange, damaged=damaged))
    main = [exchange for exchange in exchanges if exchange.exchange_id not in aside]
    return ModelCalls(steps(main, tape.blob, whole), aside, whole)
