"""Which requests make a model generate: one table, a row for each API. Knows no body and no tape.

Embeddings, model lists, token counts, batches and stored conversations are not model calls: they
are answered like any other request. Names of providers and operations are those of OpenTelemetry's
GenAI conventions (`gen_ai.provider.name`, `gen_ai.operation.name`) where it has one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import msgspec

from rerail.wire.forms import split_absolute
from rerail.wire.http1 import Head, request_line

Operation = Literal["chat", "text_completion", "generate_content"]
ErrorForm = Literal["openai", "anthropic", "gemini", "ollama", "aws", "json", "text"]


@dataclass(frozen=True, slots=True)
class Api:
    """One generating API and how its requests are told: a path, at times a header or a host.

    `path` is searched in the path without its query, so a gateway's prefix does not hide an API.
    Where a path is too common to speak for itself, `header` (lower case) must be there, or the host
    must end in `host`. `websocket` APIs are asked by an upgrade, the others by POST.
    """

    name: str
    provider: str
    operation: Operation
    errors: ErrorForm
    path: re.Pattern[str]
    header: str = ""
    host: str = ""
    websocket: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a request asks of whom: an API of the table, and the provider its host belongs to."""

    api: str
    provider: str
    operation: Operation
    errors: ErrorForm


def _path(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_VERSION: Final = r"(?:^|/v\d[^/]*|/openai|/codex)"

APIS: Final = (
    Api("openai.chat_completions", "openai", "chat", "openai", _path(r"/chat/completions$")),
    Api("openai.responses", "openai", "chat", "openai", _path(_VERSION + r"/responses$")),
    Api(
        "openai.completions",
        "openai",
        "text_completion",
        "openai",
        _path(r"(?:^|/v\d[^/]*|/openai|/deployments/[^/]+|/fim|/beta)/completions$"),
    ),
    Api(
        "anthropic.messages",
        "anthropic",
        "chat",
        "anthropic",
        _path(r"(?:^|/v\d[^/]*)/messages$"),
        header="anthropic-version",
        host="anthropic.com",
    ),
    Api(
        "anthropic.messages",
        "gcp.vertex_ai",
        "chat",
        "anthropic",
        _path(r"/publishers/anthropic/models/[^/]+(?::|%3[Aa])(?:streamR|r)awPredict$"),
    ),
    Api(
        "gemini.generate_content",
        "gcp.gemini",
        "generate_content",
        "gemini",
        _path(r"/(?:models|tunedModels|endpoints)/[^/]+(?::|%3[Aa])(?:streamG|g)enerateContent$"),
    ),
    Api("ollama.chat", "ollama", "chat", "ollama", _path(r"(?:^|/ollama)/api/chat$")),
    Api(
        "ollama.generate",
        "ollama",
        "text_completion",
        "ollama",
        _path(r"(?:^|/ollama)/api/generate$"),
    ),
    Api(
        "bedrock.converse",
        "aws.bedrock",
        "chat",
        "aws",
        _path(r"^/model/[^/]+/(?:converse|invoke)(?:-stream|-with-response-stream)?$"),
    ),
    Api(
        "openai.responses",
        "openai",
        "chat",
        "openai",
        _path(_VERSION + r"/responses$"),
        websocket=True,
    ),
    Api(
        "openai.realtime", "openai", "chat", "openai", _path(r"/v\d[^/]*/realtime$"), websocket=True
    ),
    Api(
        "gemini.live",
        "gcp.gemini",
        "generate_content",
        "gemini",
        _path(r"GenerativeService\.BidiGenerateContent$"),
        websocket=True,
    ),
)

_HOSTS: Final = (
    ("openai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("groq.com", "groq"),
    ("deepseek.com", "deepseek"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("x.ai", "x_ai"),
    ("cohere.com", "cohere"),
    ("openrouter.ai", "openrouter"),
)


def model_call(
    method: str, host: str, target: str, headers: Sequence[tuple[str, str]] = ()
) -> ModelCall | None:
    """The model call that a request is, or None.

    `host` in lower case, `target` in origin form (a query does no harm), `headers` as sent.
    """
    if method == "POST":
        websocket = False
    elif method == "GET" and _header(headers, "upgrade").lower() == "websocket":
        websocket = True
    else:
        return None
    versioned = bool(_header(headers, "anthropic-version"))
    return _lookup(host, target.partition("?")[0], websocket, versioned)


def posted_call(host: str, head: Head) -> ModelCall | None:
    """The same for the head of a POST, as sent."""
    return _lookup(host.lower(), _path_of(head), False, bool(head.get(b"anthropic-version")))


def session_api(host: str, head: Head) -> str:
    """The API that an upgrade to a WebSocket, as sent, opens a session of; empty for none."""
    call = _lookup(host.lower(), _path_of(head), True, False)
    return call.api if call else ""


def _path_of(head: Head) -> str:
    target = request_line(head).target
    absolute = split_absolute(target)
    return (absolute[3] if absolute else target).partition(b"?")[0].decode("latin-1")


@lru_cache(maxsize=1024)
def _lookup(host: str, path: str, websocket: bool, versioned: bool) -> ModelCall | None:
    for api in APIS:
        if api.websocket != websocket or not api.path.search(path):
            continue
        if api.header and not versioned and not _belongs(host, api.host):
            continue
        provider = next((name for end, name in _HOSTS if _belongs(host, end)), api.provider)
        return ModelCall(api.name, provider, api.operation, api.errors)
    return None


def tells_turns(api: str) -> bool:
    """Whether the agent's messages on an API's WebSocket say when the model is to generate.

    On the realtime API it may also begin by itself, when it hears that the speaker has ended.
    """
    return api == "openai.responses"


def is_turn(api: str, message: bytes) -> bool:
    """Whether a message of the agent on an API's WebSocket makes the model generate.

    OpenAI's sessions are driven by `response.create`; one with `generate` false only warms up.
    """
    if not api.startswith("openai."):
        return False
    try:
        event = msgspec.json.decode(message, type=_SessionEvent)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return event.type == "response.create" and event.generate is not False


class _SessionEvent(msgspec.Struct):
    type: str = ""
    generate: bool | None = None


def _belongs(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def _header(headers: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")
