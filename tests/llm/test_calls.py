"""Which requests count as model calls."""

import pytest

from rerail.llm.calls import is_turn, model_call

VERSION = [("anthropic-version", "2023-06-01")]
UPGRADE = [("Upgrade", "websocket")]

CALLS = [
    ("POST", "api.openai.com", "/v1/chat/completions", [], "openai.chat_completions", "openai"),
    ("POST", "127.0.0.1", "/chat/completions", [], "openai.chat_completions", "openai"),
    ("POST", "api.groq.com", "/openai/v1/chat/completions", [], "openai.chat_completions", "groq"),
    ("POST", "openrouter.ai", "/api/v1/chat/completions", [], "openai.chat_completions",
     "openrouter"),
    ("POST", "x.openai.azure.com", "/openai/deployments/d/chat/completions?api-version=1", [],
     "openai.chat_completions", "azure.ai.openai"),
    ("POST", "api.openai.com", "/v1/completions", [], "openai.completions", "openai"),
    ("POST", "api.openai.com", "/v1/responses", [], "openai.responses", "openai"),
    ("POST", "chatgpt.com", "/backend-api/codex/responses", [], "openai.responses", "openai"),
    ("GET", "api.openai.com", "/v1/responses", UPGRADE, "openai.responses", "openai"),
    ("GET", "api.openai.com", "/v1/realtime?model=m", UPGRADE, "openai.realtime", "openai"),
    ("POST", "api.anthropic.com", "/v1/messages?beta=true", [], "anthropic.messages", "anthropic"),
    ("POST", "localhost", "/v1/messages", VERSION, "anthropic.messages", "anthropic"),
    ("POST", "gw.example", "/anthropic/v1/messages", VERSION, "anthropic.messages", "anthropic"),
    ("POST", "us-aiplatform.googleapis.com",
     "/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", [],
     "anthropic.messages", "gcp.vertex_ai"),
    ("POST", "generativelanguage.googleapis.com", "/v1beta/models/g:generateContent", [],
     "gemini.generate_content", "gcp.gemini"),
    ("POST", "generativelanguage.googleapis.com",
     "/v1beta/models/g:streamGenerateContent?alt=sse", [], "gemini.generate_content",
     "gcp.gemini"),
    ("POST", "aiplatform.googleapis.com", "/v1/publishers/google/models/g:generateContent", [],
     "gemini.generate_content", "gcp.vertex_ai"),
    ("POST", "localhost", "/api/chat", [], "ollama.chat", "ollama"),
    ("POST", "localhost", "/api/generate", [], "ollama.generate", "ollama"),
    ("POST", "bedrock-runtime.eu-west-1.amazonaws.com", "/model/m%3A0/converse-stream", [],
     "bedrock.converse", "aws.bedrock"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "host", "target", "headers", "api", "provider"), CALLS)
def test_a_generating_request_is_a_model_call(
    method: str, host: str, target: str, headers: list[tuple[str, str]], api: str, provider: str
) -> None:
    call = model_call(method, host, target, headers)
    assert call is not None
    assert (call.api, call.provider) == (api, provider)


OTHERS = [
    ("GET", "api.openai.com", "/v1/chat/completions"),
    ("GET", "api.openai.com", "/v1/models"),
    ("POST", "api.openai.com", "/v1/embeddings"),
    ("POST", "api.openai.com", "/v1/responses/input_tokens"),
    ("POST", "api.openai.com", "/v1/responses/resp_1/cancel"),
    ("GET", "api.openai.com", "/v1/responses/resp_1"),
    ("POST", "api.anthropic.com", "/v1/messages/count_tokens"),
    ("POST", "api.anthropic.com", "/v1/messages/batches"),
    ("POST", "chat.example.com", "/v1/messages"),
    ("POST", "generativelanguage.googleapis.com", "/v1beta/models/g:countTokens"),
    ("POST", "generativelanguage.googleapis.com", "/v1beta/models/g:embedContent"),
    ("POST", "localhost", "/api/embed"),
    ("POST", "localhost", "/api/tags"),
    ("POST", "shop.example.com", "/orders/completions"),
    ("POST", "survey.example.com", "/surveys/7/responses"),
]


@pytest.mark.parametrize(("method", "host", "target"), OTHERS)
def test_any_other_request_is_not(method: str, host: str, target: str) -> None:
    assert model_call(method, host, target) is None


def test_a_host_that_only_looks_like_a_provider_is_not_that_provider() -> None:
    call = model_call("POST", "notgroq.com", "/v1/chat/completions")
    assert call is not None
    assert call.provider == "openai"


@pytest.mark.parametrize(
    ("api", "message", "expected"),
    [
        ("openai.responses", b'{"type": "response.create", "model": "m"}', True),
        ("openai.responses", b'{"type": "response.create", "generate": true}', True),
        ("openai.responses", b'{"type": "response.create", "generate": false}', False),
        ("openai.realtime", b'{"type": "session.update"}', False),
        ("openai.realtime", b"[1]", False),
        ("openai.realtime", b"\xff", False),
        ("gemini.live", b'{"type": "response.create"}', False),
    ],
)
def test_a_turn_on_a_websocket_is_told_from_a_warm_up(
    api: str, message: bytes, expected: bool
) -> None:
    assert is_turn(api, message) is expected
