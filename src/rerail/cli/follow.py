"""A tape shown while it is being recorded: each event as it is committed, until the run ends."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rerail.tape.reader import State, Tape
from rerail.tape.records import Event

POLL_SECONDS: Final = 0.1
"""How often a live tape is looked at: its recorder commits at most every 50 ms."""


def follow(path: Path, show: Callable[[Event], None]) -> State:
    """Show every event, those that are there and those that come, until nobody records any more.

    Returns how the tape was left: `finished` or `lost`. Raises TapeUnreadable, TapeAltered.
    """
    shown = 0
    with Tape.open(path) as tape:
        while tape.state == "live":
            for event in _after(tape, shown):
                show(event)
                shown = event.seq
            time.sleep(POLL_SECONDS)
    # The recorder has let go of the file and brought everything into it: read what came last.
    with Tape.open(path) as tape:
        for event in _after(tape, shown):
            show(event)
        return tape.state


def _after(tape: Tape, shown: int) -> Iterator[Event]:
    return tape.events(start=shown + 1)
