"""OTLP's typed values as plain ones, and what an event says of a model call. Knows no file.

Source: opentelemetry-proto's JSON mapping; the GenAI events of semantic conventions up to 1.36
(`gen_ai.user.message`, `gen_ai.choice` …), and the one event that came in their place, whose
attributes are those of a span.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rerail.formats.making import whole_number
from rerail.llm.chat import one_message
from rerail.llm.view import Message, object_of, objects_of, text_of

_DETAILS: Final = "gen_ai.client.inference.operation.details"
_CHOICE: Final = "gen_ai.choice"
_ROLES: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}


def attributes_of(holder: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span or of a log record."""
    return {
        text_of(entry, "key"): value_of(object_of(entry, "value"))
        for entry in objects_of(holder, "attributes")
    }


def value_of(value: Mapping[str, Any]) -> Any:
    """A typed value; 64-bit integers are texts in this form."""
    if "intValue" in value:
        return whole_number(str(value["intValue"]))
    for kind in ("stringValue", "boolValue", "doubleValue"):
        if kind in value:
            return value[kind]
    if "arrayValue" in value:
        return [value_of(one) for one in objects_of(object_of(value, "arrayValue"), "values")]
    if "kvlistValue" in value:
        entries = objects_of(object_of(value, "kvlistValue"), "values")
        return {text_of(one, "key"): value_of(object_of(one, "value")) for one in entries}
    return None


@dataclass(frozen=True, slots=True)
class Told:
    """What the events of one span say: messages of both sides, and attributes as a span has."""

    asked: tuple[Message, ...] = ()
    answered: tuple[Message, ...] = ()
    attributes: Mapping[str, Any] | None = None


def told_by(events: Iterable[Mapping[str, Any]]) -> Told:
    """Read the log records of one span, in their order."""
    asked, answered = [], []
    more: dict[str, Any] = {}
    for event in events:
        attributes = attributes_of(event)
        name = text_of(event, "eventName") or str(attributes.get("event.name", ""))
        body = value_of(object_of(event, "body"))
        said = body if isinstance(body, dict) else {}
        if name == _DETAILS:
            more |= attributes
        elif name == _CHOICE:
            answered.append(_message(object_of(said, "message") or said, "assistant"))
        elif name in _ROLES:
            asked.append(_message(said, _ROLES[name]))
    return Told(tuple(asked), tuple(answered), more)


def _message(said: Mapping[str, Any], role: str) -> Message:
    return one_message({"tool_call_id": said.get("id"), **said, "role": role})
