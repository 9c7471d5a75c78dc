"""Arguments of a tool call as a value: APIs send them as an object, or as a text that holds one."""

import json
from typing import Any


def parsed(arguments: Any) -> Any:
    """The value that a text of JSON holds; anything else, a broken text included, as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
