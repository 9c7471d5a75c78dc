"""A tape shown while it is being recorded: each event as it is committed, until the run ends."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rerail.errors import TapeAltered, TapeUnreadable
from rerail.tape.reader import State, Tape
from rerail.tape.records import Event

POLL_SECONDS: Final = 0.1
"""How often a live tape is looked at: its recorder commits at most every 50 ms."""

_LOOKS_IN_VAIN: Final = 10


def follow(path: Path, show: Callable[[Event], None]) -> State:
    """Show every event, those that are there and those that come, until nobody records any more.

    Returns how the tape was left: `finished` or `lost`. Raises TapeUnreadable, TapeAltered.
    """
    shown, in_vain = 0, 0

    def show_and_count(event: Event) -> None:
        nonlocal shown
        show(event)
        shown = event.seq

    while True:
        try:
            state = _look(path, shown, show_and_count)
            in_vain = 0
        except (TapeAltered, TapeUnreadable):
            # A recorder that is just closing its tape packs it anew under the reader's hands.
            in_vain += 1
            if not shown or in_vain == _LOOKS_IN_VAIN:
                raise
            state = "live"
        if state != "live":
            return state
        time.sleep(POLL_SECONDS)


def _look(path: Path, shown: int, show: Callable[[Event], None]) -> State:
    """Show what is new. What is there after the state was read belongs to it."""
    with Tape.open(path) as tape:
        state = tape.state
        for event in tape.events(start=shown + 1):
            show(event)
        return state
