"""Files of other programs, small ones, as those programs write them."""

import json
from pathlib import Path
from typing import Any


def lines(path: Path, *records: Any) -> Path:
    """JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def document(path: Path, value: Any) -> Path:
    """One JSON document."""
    path.write_text(json.dumps(value, indent=1))
    return path


def attributes(**values: Any) -> list[dict[str, Any]]:
    """OTLP's attributes; a double underscore stands for a dot."""
    return [
        {"key": key.replace("__", "."), "value": _typed(value)} for key, value in values.items()
    ]


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_typed(one) for one in value]}}
    return {"stringValue": value}
