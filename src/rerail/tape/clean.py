"""What the writer accepts: records and bytes that redaction has passed; `rerail.redact` makes them.

The types hold nothing of their own. They exist so that forgetting to redact does not type-check,
and a test (`tests/test_house.py`) refuses a constructor call anywhere but in `rerail.redact`.
"""

from typing import NewType

from msgspec import Struct

from rerail.tape.records import Event

CleanBytes = NewType("CleanBytes", bytes)


class CleanRecord(Struct, frozen=True):
    """An event without credentials."""

    event: Event
