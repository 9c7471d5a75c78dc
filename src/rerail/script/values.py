"""What passes between a script and its host: JSON values, and nothing that JSON would change.

A value is told to the script as it will stand on the tape, so that a replay tells it the same.
Knows no engine.
"""

import json
import math
from typing import Any, Final

from rerail.errors import UserError

_PLAIN: Final = (str, bool, int, type(None))


class NotJson(UserError):
    """A value that cannot stand on a tape as it is."""


def encoded(value: object, *, name: str) -> bytes:
    """The value as JSON. A tuple is a list. Raises NotJson, with the place: `name[3].size`."""
    try:
        return json.dumps(
            _checked(value, name), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except UnicodeEncodeError as error:
        raise NotJson(f"a text in {name} is no Unicode", hint="mend the text") from error
    except ValueError as error:  # Python writes no longer ones.
        raise NotJson(f"{name} has a number of too many digits", hint="make it a text") from error
    except RecursionError as error:
        raise NotJson(f"{name} is too deep, or holds itself", hint="make it flat") from error


def decoded(data: bytes) -> Any:
    """The value that stands there."""
    return json.loads(data)


def _checked(value: object, name: str) -> object:
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_checked(item, f"{name}[{place}]") for place, item in enumerate(value)]
    if isinstance(value, dict):
        return {_key(key, name): _checked(item, f"{name}.{key}") for key, item in value.items()}
    raise NotJson(
        f"{name} is {_described(value)}, which is no JSON value",
        hint="give None, a bool, a number, a text, a list or a dict with texts as keys",
    )


def _key(key: object, name: str) -> str:
    if type(key) is not str:
        hint = "make the keys texts"
        raise NotJson(f"{name} has a key that is {_described(key)}, not a text", hint=hint)
    return key


def _described(value: object) -> str:
    return repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
