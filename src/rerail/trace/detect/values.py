"""JSON values: walked, written in one form. Knows nothing of what they mean."""

import json
from collections.abc import Iterator
from typing import Any, Final

_DEPTH: Final = 64


def canonical(value: Any) -> str:
    """A JSON value as a text that does not depend on the order of keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every text, number and truth value in a JSON value, with its path."""
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]", depth + 1)
    elif value is not None:
        yield path, value


def objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, the outer before the inner."""
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner, depth + 1)


def key_of(path: str) -> str:
    """The last name in a path of `leaves`: `item_ids` of `order.item_ids[2]`."""
    return path.rpartition(".")[2].partition("[")[0]
