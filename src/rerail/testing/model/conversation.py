"""What is asked of a model and what it says, whatever API carries it. It knows no wire format."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

MODEL_NAME: Final = "simulated-1"
"""The model name of every reply, whatever was asked for: nobody shall take it for a real one."""

Api = Literal["chat", "responses", "messages"]
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called. `arguments` keep their order on the wire."""

    name: str
    arguments: Mapping[str, Any]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy says: text, tool calls, or both (the text comes first)."""

    text: str = ""
    tool_calls: Sequence[ToolCall] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history. A tool's result has role `tool` and the id of its call."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool on offer; `parameters` is its JSON schema.

    A `custom` tool takes a text instead, which stands as the one argument `input`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the model.

    Attributes:
        api: Which of the three APIs carried it.
        model: The model name asked for.
        messages: The history, the system prompt first; with the responses API also what the
            server keeps behind `previous_response_id`.
        tools: The tools on offer.
        tool_choice: `auto`, `none`, `required`, or the name of the one tool to call.
        schema: The JSON schema that the text must follow, if any.
        stream: Whether the reply is wanted as a stream.
        body: The request's JSON as sent.
        chance: Where a policy takes its randomness from; seeded when the server is.
    """

    api: Api
    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    schema: Mapping[str, Any] | None = None
    stream: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    chance: random.Random = field(default_factory=random.SystemRandom)

    @property
    def last(self) -> Message:
        """The newest message."""
        return self.messages[-1]

    def results(self, name: str) -> list[str]:
        """The results of every call of this tool so far, oldest first."""
        calls = {
            call.call_id
            for message in self.messages
            for call in message.tool_calls
            if call.name == name
        }
        return [message.text for message in self.messages if message.tool_call_id in calls]


class Policy(Protocol):
    """Decides what the simulated model says."""

    def reply(self, asked: Asked) -> Reply:
        """The answer to one request."""
        ...


Decide = Callable[[Asked], Reply]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply on its way out: with ids given, ready to be put into an API's form."""

    asked: Asked
    reply: Reply
    created: int
    chance: random.Random

    def identifier(self, prefix: str, length: int = 24, *, hexadecimal: bool = False) -> str:
        """A new random id in the manner of the real services."""
        letters = _HEX if hexadecimal else _LETTERS
        return prefix + "".join(self.chance.choices(letters, k=length))

    @property
    def input_tokens(self) -> int:
        """A rough count: four characters a token."""
        return tokens(json.dumps(self.asked.body, ensure_ascii=False))

    @property
    def output_tokens(self) -> int:
        """A rough count: four characters a token."""
        calls = "".join(arguments_text(call) for call in self.reply.tool_calls)
        return tokens(self.reply.text + calls)


class BadRequest(Exception):
    """The request cannot be understood; `parameter` names the culprit."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


def tokens(text: str) -> int:
    """A rough count: four characters a token."""
    return len(text) // 4 + 1


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as the JSON text that goes over the wire."""
    return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))


def pieces(text: str, chance: random.Random) -> list[str]:
    """Cut a text the way a tokenizer might: one to seven characters at a time."""
    parts, place = [], 0
    while place < len(text):
        size = chance.randint(1, 7)
        parts.append(text[place : place + size])
        place += size
    return parts


def model_of(body: Mapping[str, Any]) -> str:
    """The model asked for, which must be named."""
    value = body.get("model")
    if not isinstance(value, str) or not value:
        raise BadRequest("Missing required parameter: 'model'.", "model")
    return value


def objects(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A field that may be missing, and else is a list of JSON objects."""
    value = holder.get(name) or []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise BadRequest(f"Invalid type for '{name}': expected an array of objects.", name)
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def role_of(entry: Mapping[str, Any], parameter: str) -> Role:
    """A message's role; `developer` is the newer word for `system`."""
    named = entry.get("role")
    roles: dict[Any, Role] = {
        "system": "system",
        "developer": "system",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
    }
    if not isinstance(named, str) or named not in roles:
        raise BadRequest(f"Invalid value: '{named}' is no role.", parameter)
    return roles[named]


def parse_arguments(text: Any) -> Mapping[str, Any]:
    """Arguments that a client sends back: JSON text, or already an object."""
    if isinstance(text, str):
        try:
            text = json.loads(text or "{}")
        except ValueError:
            text = {"text": text}
    return text if isinstance(text, dict) else {"value": text}


_HEX: Final = "0123456789abcdef"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
