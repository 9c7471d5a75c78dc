"""How events of a tape are put into words for an investigation: as `rerail show` has them."""

import io
from contextlib import redirect_stdout
from functools import lru_cache
from typing import Final

from rerail.cli.facts.events import words
from rerail.cli.screen.texts import one_line
from rerail.cli.shown.numbers import exchanges_of, read_number
from rerail.cli.shown.outline import Outline, read_outline
from rerail.cli.shown.whole import Page
from rerail.tape.event import Event
from rerail.tape.reader import Tape

_READ_WHOLE_UP_TO: Final = 200_000
"""Events of a tape up to which an exchange is put together; beyond, its events are shown alone."""


class TapeWords:
    """The words of one command: outlines are read once."""

    def __init__(self) -> None:
        self._outline = lru_cache(maxsize=4)(read_outline)

    def line(self, event: Event) -> str:
        """What an event says, in one line, safe to print."""
        return one_line(words(event))

    def whole(self, tape: Tape, ref: str) -> str:
        """What `rerail show TAPE REF` prints. Raises NotOnTape."""
        number = read_number(ref)
        printed = io.StringIO()
        small = tape.last_seq <= _READ_WHOLE_UP_TO
        with redirect_stdout(printed):
            if number.kind == "e":
                event = tape.event(number.value)
                with_exchange = small and getattr(event, "exchange_id", 0) > 0
                outline = self._outline(tape) if with_exchange else Outline(tape.run, None)
                Page(tape, outline, []).event(event)
            else:
                outline = self._outline(tape)
                page = Page(tape, outline, [])
                for exchange in exchanges_of(outline, number):
                    page.exchange(exchange)
        return printed.getvalue()
