"""Model calls and tool calls told as spans, as tracers do: put in order, each message said once.

Knows no file: OpenTelemetry, OpenAI's Agents SDK and LangSmith give it the same form.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rerail.formats.making import Teller
from rerail.llm.view import Message, Other, Part, ToolCall, ToolCallResponse, Usage


@dataclass(frozen=True, slots=True)
class Span:
    """One span: a model call (`asked`, `answered`, or `silent` where its words are not there) or a
    tool call (`call`, `told`).

    `line` is where it stands in a file of lines, else 0. `own_id` says that a tool's `call_id` is
    the span's, not the model's.
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
    silent: bool = False
    own_id: bool = False


def tell(teller: Teller, spans: Iterable[Span]) -> None:
    """Say what the spans hold, by their times.

    A tool call that a model's messages hold too is said once: what the model's side does not hold
    comes from the tool's own span.
    """
    found = sorted(spans, key=lambda span: (span.start, -span.end))
    both = _Sides(found)
    said: Counter[str] = Counter()
    for span in found:
        if span.call is not None:
            _say_tool(teller, span, span.call, both)
        elif span.asked or span.answered or span.error or span.silent:
            _say_model(teller, both.marked(span), said)


@dataclass(slots=True)
class _Sides:
    """Which call of a model each tool's span is. Where a tracer gives the two no common id, it is
    the first call of that name, asked for before and not taken yet, with equal arguments where
    there is one."""

    spans: Sequence[Span]
    ids: dict[int, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        waiting: list[ToolCall] = []
        seen: set[str] = set()
        for span in self.spans:
            for part in _parts(span):
                if isinstance(part, ToolCallResponse):
                    self.told.add(part.call_id)
                elif isinstance(part, ToolCall) and part.call_id not in seen:
                    seen.add(part.call_id)
                    waiting.append(part)
            if span.call is not None:
                self._take(span, span.call, waiting)

    def _take(self, span: Span, call: ToolCall, waiting: list[ToolCall]) -> None:
        same = [one for one in waiting if one.call_id == call.call_id]
        alike = [one for one in waiting if span.own_id and one.name == call.name]
        equal = [one for one in alike if one.arguments == call.arguments]
        for one in [*same, *equal, *alike][:1]:
            waiting.remove(one)
            self.ids[id(span)] = one.call_id
            if span.told is not None and span.told.is_error:
                self.failed.add(one.call_id)

    def marked(self, span: Span) -> Span:
        """A model's span, with the failures that only the tools' spans tell."""
        return replace(span, asked=tuple(map(self._marked, span.asked))) if self.failed else span

    def _marked(self, message: Message) -> Message:
        parts = tuple(
            replace(part, is_error=True)
            if isinstance(part, ToolCallResponse) and part.call_id in self.failed
            else part
            for part in message.parts
        )
        return Message(message.role, parts)


def _parts(span: Span) -> Iterable[Part]:
    return (part for message in (*span.asked, *span.answered) for part in message.parts)


def _say_tool(teller: Teller, span: Span, call: ToolCall, both: _Sides) -> None:
    known = both.ids.get(id(span))
    if known is None:
        teller.say(Message("assistant", (call,)), line=span.line, at=span.start)
    if span.told is not None and (known is None or known not in both.told):
        told = replace(span.told, call_id=known or call.call_id)
        teller.say(Message("tool", (told,)), line=span.line, at=span.end)


def _say_model(teller: Teller, span: Span, said: Counter[str]) -> None:
    for message in new_ones(span.asked, said):
        teller.say(message, line=span.line, at=span.start)
    nothing = Message("assistant", (Other("words that were not kept"),) if span.silent else ())
    for message in span.answered or (nothing,):
        said[_key(message)] += 1
        teller.say(
            message,
            line=span.line,
            at=span.end,
            model=span.model,
            finish_reason=span.finish_reason,
            usage=span.usage,
            error=span.error,
        )


def _key(message: Message) -> str:
    """What tells a message from others. Its calls do, where it has any: some tracers leave out the
    words beside them when they repeat it."""
    ids = [call.call_id for call in message.tool_calls if call.call_id]
    return f"calls {ids}" if ids else repr(message.parts)


def new_ones(asked: Sequence[Message], said: Counter[str]) -> list[Message]:
    """The messages that had not been said before; each model call repeats all before it."""
    here: Counter[str] = Counter()
    found = []
    for message in asked:
        key = _key(message)
        here[key] += 1
        if here[key] > said[key]:
            said[key] += 1
            found.append(message)
    return found
