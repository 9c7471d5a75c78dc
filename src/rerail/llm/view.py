"""What a model call means, in one form for every API: messages, tool calls, tokens. Plain values.

A view, computed from the evidence when someone looks, and never stored: it can be improved later,
a fact cannot. Names follow OpenTelemetry's GenAI conventions (`gen_ai.input.messages`: parts of
type `text`, `reasoning`, `tool_call`, `tool_call_response`; `gen_ai.usage.*`).

What a provider sends in another shape than its API says is passed over, never guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    content: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model says it thought; often only a summary, or nothing where it is encrypted."""

    content: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called. `arguments` is JSON's value, a text where it is none."""

    call_id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ToolCallResponse:
    """What a tool answered, as the model was told it. `is_error` where the agent said so."""

    call_id: str
    response: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """Something else, such as an image or a file: named by its kind, not looked into."""

    kind: str


Part = Text | Reasoning | ToolCall | ToolCallResponse | Other


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Its role is `system`, `user`, `assistant` or `tool`, whatever the API says."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its words alone."""
        return "".join(part.content for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools it wants called."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say.

    `input_tokens` are all that were read, those from a cache (`cached_tokens`) included.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was asked. `continues` is the response that the provider keeps the history behind."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    continues: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What was answered, as far as it came.

    `model` is the one that answered. `finish_reason` is the provider's own word, empty where the
    answer broke off before it. `error` is what was said instead of an answer.
    """

    model: str = ""
    message: Message | None = None
    finish_reason: str = ""
    usage: Usage = Usage()
    response_id: str = ""
    error: str = ""


ROLES: Final = {"developer": "system", "function": "tool", "model": "assistant"}


def role_of(document: Document) -> str:
    """A message's role in the common words."""
    role = text_of(document, "role")
    return ROLES.get(role, role)


def text_of(document: Document, name: str) -> str:
    """A field that is a text, else nothing."""
    value = document.get(name)
    return value if isinstance(value, str) else ""


def count_of(document: Document, *names: str) -> int | None:
    """A field (in objects within each other) that is a whole number, else None."""
    value: Any = document
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def object_of(document: Document, name: str) -> Document:
    """A field that is an object, else an empty one."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(document: Document, name: str) -> Sequence[Document]:
    """The objects in a field that is an array; what else is in it is passed over."""
    value = document.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def names_of(entries: Sequence[Document]) -> tuple[str, ...]:
    """The names of tools."""
    return tuple(name for entry in entries if (name := text_of(entry, "name")))


def error_of(document: Document) -> str:
    """What an error document says, in the forms in use: `error.message`, `error`, `message`."""
    error = document.get("error")
    if isinstance(error, dict):
        return text_of(error, "message") or text_of(error, "type") or "error"
    return error if isinstance(error, str) else ""
