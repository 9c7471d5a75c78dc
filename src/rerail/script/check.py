"""Would this script run? Read, type-checked, and run dry on stub answers. Calls no tool.

Everything is found before the first paid call, as far as it can be: a dry run sees only the way
that its answers lead.
"""

import ast
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rerail.clock import wall_ns
from rerail.script.engine import SLEEP, Asked, Ended, Session, type_errors
from rerail.script.limits import Limits
from rerail.script.lint import Finding, lint
from rerail.script.prelude import STUBS
from rerail.script.values import encoded

_NANO: Final = 1_000_000_000
_CALLS: Final = 1000
_LIMITS: Final = Limits(turn_ms=5000, pauses=_CALLS)
_TYPE_ERROR: Final = re.compile(r"^[^:\n]+:(\d+):(\d+): \w+\[([\w-]+)\] (.*)$", re.MULTILINE)
_AS_THE_ENGINE_READS: Final = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_RUNS_ALL_THE_SAME: Final = frozenset(("map", "filter", "getattr", "hasattr", "setattr", "format"))
"""Built-in functions that run, and that the type checker does not know."""
_UNKNOWN_NAME: Final = re.compile(r"Name `(\w+)` used when not defined")
_TRACED: Final = re.compile(r", line (\d+), in .*$", re.MULTILINE)


@dataclass(slots=True)
class Checked:
    """What was found, and how far a dry run came.

    `calls` are the tools that the dry run asked for, in order. `stopped` says why it did not come
    to the end, where that is no finding: a tool that it has no answer for.
    """

    findings: list[Finding] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    ran: bool = False
    stopped: str = ""
    output: Any = None


def check_script(
    code: str,
    *,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Sequence[Any]],
) -> Checked:
    """Check a script.

    Args:
        code: Its text.
        name: What to call it in a traceback.
        inputs: The names that the host will set before its first line.
        answers: What each tool answers in the dry run, one after the other; the last one again and
            again.
    """
    checked = Checked()
    try:
        tree = compile(code, name, "exec", _AS_THE_ENGINE_READS)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", 1) or 1, getattr(error, "offset", 1) or 1
        what = getattr(error, "msg", str(error))
        checked.findings.append(Finding(line, column, f"this is no Python: {what}"))
        return checked
    checked.findings = sorted([*lint(tree), *_types(code, name, inputs)])
    if not checked.findings:
        _run_dry(checked, code, name, inputs, answers)
    return checked


def _types(code: str, name: str, inputs: Mapping[str, Any]) -> list[Finding]:
    given = "".join(f"{name}: Any = ...\n" for name in inputs)
    found = []
    for line, column, kind, said in _TYPE_ERROR.findall(type_errors(code, name, STUBS + given)):
        unknown = _UNKNOWN_NAME.match(said)
        if unknown and unknown[1] in _RUNS_ALL_THE_SAME:
            continue
        mend = "name it with --given, if the host sets it" if unknown else ""
        found.append(Finding(int(line), int(column), f"{said} ({kind})", mend))
    return found


def _run_dry(
    checked: Checked,
    code: str,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Sequence[Any]],
) -> None:
    left = {tool: deque(given) for tool, given in answers.items()}
    session = Session.open(code, name, _LIMITS)
    try:
        asked = session.start(dict(inputs))
        while isinstance(asked, Asked):
            if asked.kind == "host":
                value = bytes(asked.arguments) if asked.name == "os.urandom" else _now()
                asked = session.tell_host(value)
                continue
            checked.calls.append(asked.name)
            if asked.name != SLEEP and not left.get(asked.name):
                checked.stopped = f"at line {asked.line}, `{asked.name}` has no answer"
                return
            if len(checked.calls) > _CALLS:
                checked.stopped = f"after {_CALLS} calls of tools"
                return
            asked = session.tell(_next(left, asked.name))
        _ended(checked, asked)
    finally:
        session.close()


def _next(left: Mapping[str, deque[Any]], tool: str) -> Any:
    if tool == SLEEP:
        return None
    given = left[tool]
    return given[0] if len(given) == 1 else given.popleft()


def _ended(checked: Checked, ended: Ended) -> None:
    checked.ran = True
    checked.output = ended.output
    if ended.error:
        lines = _TRACED.findall(ended.error)
        what = ended.error.strip().rpartition("\n")[2]
        checked.findings.append(Finding(int(lines[-1]) if lines else 1, 1, f"it fails: {what}"))


def _now() -> float:
    return wall_ns() / _NANO


def answer_of(text: str) -> tuple[str, Any]:
    """`TOOL=JSON` as a tool and its answer. Raises ValueError."""
    tool, equals, value = text.partition("=")
    if not equals or not tool:
        raise ValueError(text)
    from rerail.script.values import decoded

    return tool, decoded(encoded(decoded(value.encode()), name=tool))
