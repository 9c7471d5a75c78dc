"""What every script finds defined before its first line. Text for the engine, not run here."""

from typing import Final

PRELUDE: Final = '''\
def heard(answer, history, limit):
    """Take in what came beside an answer: a note for the history, and a new limit."""
    if answer.get("note"):
        history.append({"role": "user", "content": answer["note"]})
    return answer.get("limit", limit)
'''

STUBS: Final = """\
from typing import Any

def tool(name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any: ...
def heard(answer: dict[str, Any], history: list[Any], limit: int) -> int: ...
"""
"""The same for a type checker."""
