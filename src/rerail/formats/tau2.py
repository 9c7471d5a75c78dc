"""τ²-bench results: `simulations` of one domain, whose policy is what the agent was told first.

Source: the results files of sierra-research/tau2-bench. Rewards and reference actions that stand
beside a simulation are judgments of somebody who knew the answer: they are never read.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rerail.formats.file import Foreign
from rerail.formats.making import Teller, usage_of, wall_of
from rerail.llm.view import (
    Document,
    Message,
    Part,
    Text,
    ToolCall,
    ToolCallResponse,
    object_of,
    objects_of,
    text_of,
)
from rerail.trace.story import Gap, Story

NAME: Final = "tau2-results"
_ROLES: Final = frozenset(("user", "assistant"))
_OWN_TOOLS: Final = Gap(
    "what the simulated person did with tools of their own", "how their words came about"
)


def recognises(file: Foreign) -> bool:
    """Whether the document holds simulations and the environment that they ran in."""
    document = file.document
    return isinstance(document, dict) and bool(
        objects_of(document, "simulations") and object_of(document, "info")
    )


def read(file: Foreign) -> list[Story]:
    """A story for each simulation."""
    policy = text_of(object_of(object_of(file.document, "info"), "environment_info"), "policy")
    return [
        _story(file, simulation, text_of(simulation, "policy") or policy, f"run {number}")
        for number, simulation in enumerate(objects_of(file.document, "simulations"), start=1)
    ]


def _story(file: Foreign, simulation: Document, policy: str, name: str) -> Story:
    teller = Teller(f"{file.name} {name}")
    if policy:
        teller.say(Message("system", (Text(policy),)))
    messages = list(_single(objects_of(simulation, "messages")))
    for entry in messages:
        message = _message(entry)
        if message is not None:
            usage = object_of(entry, "usage") if message.role == "assistant" else {}
            teller.say(
                message,
                at=wall_of(entry.get("timestamp")),
                usage=usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens")),
            )
    by_people = any(entry.get("requestor") == "user" for entry in messages)
    ids = {"task": text_of(simulation, "task_id"), "run": text_of(simulation, "id")}
    ended = text_of(simulation, "termination_reason")
    return teller.story(file, [_OWN_TOOLS] if by_people else [], ended=ended, ids=ids)


def _single(entries: Sequence[Document]) -> Iterator[Document]:
    """Answers to several calls stand in one message: each is one of its own."""
    for entry in entries:
        yield from objects_of(entry, "tool_messages") or [entry]


def _message(entry: Document) -> Message | None:
    """A message of the conversation; None for what the person does with tools of their own."""
    role, words = text_of(entry, "role"), text_of(entry, "content")
    if role == "tool":
        if entry.get("requestor") == "user":
            return None
        answer = ToolCallResponse(text_of(entry, "id"), words, entry.get("error") is True)
        return Message(role, (answer,))
    if role not in _ROLES:
        return None
    parts: list[Part] = [Text(words)] if words else []
    if role == "assistant":
        parts += [
            ToolCall(text_of(call, "id"), text_of(call, "name"), call.get("arguments"))
            for call in objects_of(entry, "tool_calls")
        ]
    return Message(role, tuple(parts)) if parts else None
