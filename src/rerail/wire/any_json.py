"""JSON that anybody may have written: what it holds, or nothing where it is none."""

import json
from typing import Any


def loaded(text: str | bytes) -> Any:
    """The value that a text of JSON holds, None where it is none, or nested beyond all measure."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
