"""The lab: a scripted model and scripted tools, a real agent, a real recording of it.

Knows no fault. A `Run` says what the model says and what the tools answer; `findings` runs it.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rerail.formats.reading import read
from rerail.tape.reader import Tape
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import Reply, document, in_turn, serve, text
from rerail.trace.detect.detector import Material, Record
from rerail.trace.detect.detectors import detect
from rerail.trace.finding import Finding
from rerail.trace.telling import story_of
from tests.journeys.rail import Rail

WORKER = Path(__file__).parent / "worker.py"
RULE = "You must list what you will do and obtain the user's explicit confirmation (yes) first."


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: the model's replies in turn, each tool's answers, what the person says in turn.

    `offered` are the tools' schemas. `drops` are tools whose answers the agent forgets. `imported`:
    the agent's own transcript is looked at, not the tape. `gone` are tools whose host is not there.
    """

    model: Sequence[Reply]
    tools: Mapping[str, Reply] = field(default_factory=dict)
    users: Sequence[str] = ("Do it.",)
    system: str = ""
    offered: Sequence[Mapping[str, Any]] = ()
    drops: Sequence[str] = ()
    gone: Sequence[str] = ()
    turns: int = 12
    patience: float = 20
    imported: bool = False


def say(words: str, *, reason: str = "stop") -> Reply:
    """The model says something."""
    return _answer({"role": "assistant", "content": words}, reason)


def call(name: str, /, words: str = "", **arguments: Any) -> Reply:
    """The model wants a tool called."""
    return raw_call(name, json.dumps(arguments), words)


def raw_call(name: str, arguments: str, words: str = "") -> Reply:
    """The same with arguments as a text."""

    def reply(connection: Connection, request: Request) -> None:
        number = json.loads(request.read())["messages"]
        one = {"name": name, "arguments": arguments}
        wanted = {"id": f"call_{len(number)}", "type": "function", "function": one}
        message = {"role": "assistant", "content": words or None, "tool_calls": [wanted]}
        _answer(message, "tool_calls")(connection, request)

    return reply


def _answer(message: Mapping[str, Any], reason: str) -> Reply:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return document({"model": "gpt-4o", "id": "chatcmpl-1", "choices": [choice], "usage": usage})


def tool(name: str, /, *required: str, **types: str) -> dict[str, Any]:
    """A tool's schema."""
    properties = {field: {"type": kind} for field, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def findings(rail: Rail, run: Run) -> list[Finding]:
    """Really run it, recorded, and let the detectors look."""
    transcript = rail.folder / "transcript.json"
    plan = {
        "system": run.system,
        "users": list(run.users),
        "offered": list(run.offered),
        "drops": list(run.drops),
        "hosts": dict.fromkeys(run.gone, "http://gone.test"),
        "turns": run.turns,
        "patience": run.patience,
        "transcript": str(transcript),
    }
    (rail.folder / "plan.json").write_text(json.dumps(plan))
    with ExitStack() as stack:
        model = stack.enter_context(Origin(serve(in_turn(*run.model))))
        tools = stack.enter_context(Origin(serve(_by_name(run.tools))))
        rail.resolve("model.test", model)
        rail.resolve("tools.test", tools)
        options = ["--no-workspace"]
        if run.gone:
            with Origin(serve(text(""))) as closed:
                options.append(f"--resolve=gone.test:80={closed.host}:{closed.port}")
        recorded = rail.record(*rail.python(str(WORKER), "plan.json"), options=options)
    assert recorded.status == 0, recorded.said
    if run.imported:
        return detect(Material((read(transcript, name="run"),)))
    return looked_at(recorded.tape)


def looked_at(tape: Path) -> list[Finding]:
    """What the detectors find on a tape."""
    with Tape.open(tape) as opened:
        story = story_of(opened, "run")
        return detect(Material((story,), (Record("run", opened.events),)))


def _by_name(tools: Mapping[str, Reply]) -> Reply:
    missing = document({"error": "no such tool"}, status=404)

    def reply(connection: Connection, request: Request) -> None:
        name = request.path.partition("?")[0].strip("/")
        tools.get(name, missing)(connection, request)

    return reply
