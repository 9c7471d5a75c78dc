"""What came of a tool call, as its answer says: done, an error, no time left. Knows no tool.

Tools say it in words more often than in a field made for it.
"""

import re
from typing import Any, Final

from rerail.trace.detect.call import Call

_ERROR: Final = re.compile(
    r"\s*(<tool_use_error>|\W*(error|exception|traceback|failed|failure|fatal|invalid)\b)",
    re.IGNORECASE,
)
_REFUSED: Final = 400
_TIMED_OUT: Final = re.compile(
    r"timed? ?out|deadline exceeded|^\W*(error: )?timeout(error)?\b|\b504\b|gateway time-?out",
    re.IGNORECASE,
)
_SAID_FIRST: Final = 300
_FAILED: Final = frozenset(("error", "failed", "failure", "denied", "rejected"))


def is_error(call: Call) -> bool:
    """Whether the tool was answered with an error, said openly or in its words."""
    if call.answer is None:
        return False
    return call.answer.is_error or bool(_ERROR.match(call.told)) or bool(error_inside(call))


def error_inside(call: Call) -> str:
    """The error in a JSON answer that is not marked as one; nothing where there is none."""
    document = call.document
    if not isinstance(document, dict):
        return ""
    error = document.get("error") or document.get("errors") or document.get("exception")
    if error and error is not True:
        return _words(error)
    status = document.get("status")
    if document.get("isError") is True or document.get("is_error") is True or error is True:
        return _words(document.get("message") or document.get("content") or "error")
    if document.get("success") is False or document.get("ok") is False:
        return _words(document.get("message") or document.get("reason") or "no success")
    said = document.get("message") or document.get("title")
    if isinstance(status, int) and status >= _REFUSED and said:
        return f"{status} {_words(said)}"
    if isinstance(status, str) and status.lower() in _FAILED and said:
        return _words(said)
    return ""


def timed_out(call: Call) -> bool:
    """Whether the answer says that the time was over: what happened, nobody knows."""
    return is_error(call) and bool(_TIMED_OUT.search(call.told[:_SAID_FIRST]))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("message") or value.get("code") or value)
    return str(value)
