"""What a task contract states, as far as an investigation asks: read from the file on the tape."""

from collections.abc import Mapping
from typing import Any

from rerail.errors import RerailError
from rerail.task.contract import parse


def terms(content: bytes) -> Mapping[str, Any]:
    """Constraints by their ids, the target and its owner; nothing of a contract nobody can read."""
    try:
        contract = parse(content)
    except RerailError:
        return {}
    target = contract.target
    return {
        "objective": contract.objective,
        "constraints": {one.id: one.text for one in contract.constraints},
        "budgets": [name for name in ("turns", "tokens", "time") if getattr(contract.budget, name)],
        "inputs": [given.name for given in contract.inputs],
        "target": target.name if target else "",
        "owner": target.owner if target else "",
        "retries": contract.retries,
    }
