"""A model call in an API's own form: the request's bytes, and what the reply says. No socket.

Two forms reach nearly every model: OpenAI's chat completions and Anthropic's messages.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rerail.errors import UsageProblem
from rerail.experiment.contract import Model
from rerail.llm.meaning import completion_of
from rerail.llm.view import Completion
from rerail.proxy.handler import Route
from rerail.wire.forms import split_url

Messages = Sequence[Mapping[str, str]]
"""Each with `role` (`system`, `user`, `assistant`) and `content`."""

ANTHROPIC_VERSION: Final = "2023-06-01"
ANTHROPIC_MAX_TOKENS: Final = 1024

_PATHS: Final = {"openai": "/chat/completions", "anthropic": "/messages"}
_APIS: Final = {"openai": "openai.chat_completions", "anthropic": "anthropic.messages"}


class Request(Struct, frozen=True):
    """Where a request goes, and all its bytes."""

    route: Route
    content: bytes


def request(
    model: Model,
    messages: Messages,
    *,
    key: str,
    seed: int,
    actions: Mapping[str, Any],
    connection: int = 1,
) -> Request:
    """One model call, ready for the wire.

    Args:
        model: Which one, and its sampling.
        messages: The history; neighbours of one role are joined, because many models' templates
            take turns only.
        key: What the environment's variable held; empty for none.
        seed: For the model's sampling, where its API takes one.
        actions: The JSON schema that answers follow, where the model is to be kept to it.
        connection: The connection's number on the tape.
    """
    body = (
        _openai(model, messages, seed, actions)
        if model.api == "openai"
        else _claude(model, messages)
    )
    content = msgspec.json.encode(body)
    route, base, query = _route(model.url, connection)
    head = [
        f"POST {base}{_PATHS[model.api]}{query} HTTP/1.1",
        f"Host: {urlsplit(model.url).netloc.rpartition('@')[2]}",
        *_key_headers(model.api, key),
        "Content-Type: application/json",
        "Accept: application/json",
        f"Content-Length: {len(content)}",
        "Connection: close",
    ]
    return Request(route, "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + content)


def completion(model: Model, body: bytes, content_type: str) -> Completion | None:
    """What a reply says; None where it is none of this API's."""
    return completion_of(_APIS[model.api], body, content_type)


def joined(messages: Messages) -> list[dict[str, str]]:
    """Neighbours of one role as one message, a blank line between them."""
    turns = groupby(messages, key=lambda message: message["role"])
    return [
        {"role": role, "content": "\n\n".join(message["content"] for message in said)}
        for role, said in turns
    ]


def _openai(
    model: Model, messages: Messages, seed: int, actions: Mapping[str, Any]
) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model.name, "messages": joined(messages), **model.sampling}
    if model.seeded:
        body["seed"] = seed
    if model.structured:
        named = {"name": "action", "strict": True, "schema": actions}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _claude(model: Model, messages: Messages) -> dict[str, Any]:
    system = [message["content"] for message in messages if message["role"] == "system"]
    said = [message for message in messages if message["role"] != "system"]
    body: dict[str, Any] = {"model": model.name, "max_tokens": ANTHROPIC_MAX_TOKENS}
    if system:
        body["system"] = "\n\n".join(system)
    return {**body, "messages": joined(said), **model.sampling}


def _key_headers(api: str, key: str) -> list[str]:
    if api == "anthropic":
        return [f"anthropic-version: {ANTHROPIC_VERSION}", *([f"x-api-key: {key}"] if key else [])]
    return [f"Authorization: Bearer {key}"] if key else []


def _route(url: str, connection: int) -> tuple[Route, str, str]:
    """Where the URL leads, what stands before the API's path, and what behind it."""
    split = split_url(url)
    if split is None:
        raise UsageProblem("the model's `url` is no URL", hint="write `url: https://HOST/v1`")
    scheme, host, port = split
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return Route(connection, scheme, host, port), parts.path.rstrip("/"), query
