"""Model calls and tool calls told as spans, as tracers do: put in order, each message said once.

Knows no file: OpenTelemetry and OpenAI's Agents SDK give it the same form.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rerail.formats.making import Teller
from rerail.llm.view import Message, ToolCall, ToolCallResponse, Usage


@dataclass(frozen=True, slots=True)
class Span:
    """One span: a model call (`asked`, `answered`) or a tool call (`call`, `told`).

    `line` is where it stands in a file of lines, else 0.
    """

    start: int
    end: int
    asked: tuple[Message, ...] = ()
    answered: tuple[Message, ...] = ()
    call: ToolCall | None = None
    told: ToolCallResponse | None = None
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    error: str = ""
    line: int = 0


def tell(teller: Teller, spans: Iterable[Span]) -> None:
    """Say what the spans hold, by their times.

    A tool call that a model's messages hold too is said once: what the model's side does not hold
    comes from the tool's own span.
    """
    found = sorted(spans, key=lambda span: (span.start, -span.end))
    by_models = {
        part.call_id
        for span in found
        for message in (*span.asked, *span.answered)
        for part in message.parts
        if isinstance(part, ToolCall | ToolCallResponse)
    }
    said: Counter[str] = Counter()
    for span in found:
        if span.call is not None:
            if span.call.call_id not in by_models:
                _say_tool(teller, span, span.call)
        elif span.asked or span.answered or span.error:
            _say_model(teller, span, said)


def _say_tool(teller: Teller, span: Span, call: ToolCall) -> None:
    teller.say(Message("assistant", (call,)), line=span.line, at=span.start)
    if span.told is not None:
        teller.say(Message("tool", (span.told,)), line=span.line, at=span.end)


def _say_model(teller: Teller, span: Span, said: Counter[str]) -> None:
    for message in new_ones(span.asked, said):
        teller.say(message, line=span.line, at=span.start)
    for message in span.answered or (Message("assistant", ()),):
        said[repr(message.parts)] += 1
        teller.say(
            message,
            line=span.line,
            at=span.end,
            model=span.model,
            finish_reason=span.finish_reason,
            usage=span.usage,
            error=span.error,
        )


def new_ones(asked: Sequence[Message], said: Counter[str]) -> list[Message]:
    """The messages that had not been said before; each model call repeats all before it."""
    here: Counter[str] = Counter()
    found = []
    for message in asked:
        key = repr(message.parts)
        here[key] += 1
        if here[key] > said[key]:
            said[key] += 1
            found.append(message)
    return found
