"""Calls that clients make for themselves."""

import pytest

from rerail.compare.side_calls import TABLE, side_call, stub_reply
from rerail.wire.http1 import ReplyScanner

EXAMPLES = {
    "openai-agents traces": ("POST", "api.openai.com", "/v1/traces/ingest"),
    "openai model list": ("GET", "api.openai.com", "/v1/models"),
    "codex model list": ("GET", "chatgpt.com", "/backend-api/codex/models"),
    "claude-code event batch": ("POST", "api.anthropic.com", "/api/event_logging/batch"),
    "claude-code metrics": ("POST", "api.anthropic.com", "/api/claude_code/metrics"),
    "langsmith runs": ("POST", "api.smith.langchain.com", "/runs/multipart"),
    "litellm price list": (
        "GET",
        "raw.githubusercontent.com",
        "/BerriAI/litellm/main/model_prices_and_context_window.json",
    ),
    "posthog analytics": ("POST", "us.i.posthog.com", "/batch/"),
    "sentry reports": ("POST", "o1.ingest.sentry.io", "/api/42/envelope/"),
    "statsig events": ("POST", "statsig.anthropic.com", "/v1/rgstr"),
    "datadog logs": ("POST", "http-intake.logs.us5.datadoghq.com", "/api/v2/logs"),
}


@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_each_row_knows_its_call_and_no_other_method(row: object) -> None:
    name = row.name  # type: ignore[attr-defined]
    method, host, path = EXAMPLES[name]
    found = side_call(method, host, path)
    assert found is row
    assert found.reason
    assert side_call("DELETE", host, path) is None
    assert side_call(method, host, path + "/more") is None
    assert side_call(method, "not" + host, path) is None or host.count(".") > 1


def test_an_ordinary_call_is_no_side_call() -> None:
    assert side_call("POST", "api.openai.com", "/v1/chat/completions") is None
    assert side_call("POST", "127.0.0.1", "/v1/traces/ingest") is None


@pytest.mark.parametrize("row", [row for row in TABLE if row.stub], ids=lambda row: row.name)
def test_a_stub_is_one_whole_reply(row: object) -> None:
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    scanner.feed(stub_reply(row))  # type: ignore[arg-type]
    assert scanner.between_messages


def test_lists_that_are_read_have_no_stub() -> None:
    assert all((row.stub == 0) == (row.method == "GET") for row in TABLE)
