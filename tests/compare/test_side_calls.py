"""Calls that clients make for themselves."""

from pathlib import Path

import pytest

from rerail.compare.side_calls import NOTHING, TABLE, side_call, stub_reply
from rerail.wire.http1 import ReplyScanner

EXAMPLES = [
    ("openai-agents traces", "POST", "api.openai.com", "/v1/traces/ingest"),
    ("openai model list", "GET", "api.openai.com", "/v1/models"),
    ("codex model list", "GET", "chatgpt.com", "/backend-api/codex/models"),
    ("codex plugin list", "GET", "chatgpt.com", "/backend-api/plugins/export/curated"),
    ("codex plugin list", "GET", "api.github.com", "/repos/openai/plugins"),
    ("codex plugin list", "GET", "github.com", "/openai/plugins.git/info/refs"),
    ("codex metrics", "POST", "ab.chatgpt.com", "/otlp/v1/metrics"),
    ("codex analytics", "POST", "chatgpt.com", "/backend-api/codex/analytics-events/events"),
    ("codex update check", "GET", "api.github.com", "/repos/openai/codex/releases/latest"),
    ("claude-code feature flags", "POST", "api.anthropic.com", "/api/eval/sdk-zAZezfDKGo"),
    ("claude-code settings", "GET", "api.anthropic.com", "/api/claude_code/policy_limits"),
    ("claude-code settings", "GET", "api.anthropic.com", "/api/claude_code/settings"),
    ("claude-code settings", "GET", "api.anthropic.com", "/api/claude_cli/bootstrap"),
    ("claude-code settings", "GET", "api.anthropic.com", "/api/claude_code_penguin_mode"),
    (
        "claude-code metrics check",
        "GET",
        "api.anthropic.com",
        "/api/claude_code/organizations/metrics_enabled",
    ),
    ("claude-code mcp registry", "GET", "api.anthropic.com", "/mcp-registry/v0/servers"),
    ("claude-code update check", "GET", "downloads.claude.ai", "/claude-code-releases/latest"),
    ("claude-code event batch", "POST", "api.anthropic.com", "/api/event_logging/batch"),
    ("claude-code event batch", "POST", "api.anthropic.com", "/api/event_logging/v2/batch"),
    ("claude-code metrics", "POST", "api.anthropic.com", "/api/claude_code/metrics"),
    ("langsmith runs", "POST", "api.smith.langchain.com", "/runs/multipart"),
    (
        "litellm price list",
        "GET",
        "raw.githubusercontent.com",
        "/BerriAI/litellm/main/model_prices_and_context_window.json",
    ),
    ("aider update check", "GET", "pypi.org", "/pypi/aider-chat/json"),
    ("qwen-code analytics", "POST", "gb4w8c3ygj-default-sea.rum.aliyuncs.com", "/"),
    ("posthog analytics", "POST", "us.i.posthog.com", "/batch/"),
    ("sentry reports", "POST", "o1.ingest.sentry.io", "/api/42/envelope/"),
    ("statsig events", "POST", "statsig.anthropic.com", "/v1/rgstr"),
    ("datadog logs", "POST", "http-intake.logs.us5.datadoghq.com", "/api/v2/logs"),
]


@pytest.mark.parametrize(("name", "method", "host", "path"), EXAMPLES)
def test_each_row_knows_its_call_and_no_other(name: str, method: str, host: str, path: str) -> None:
    found = side_call(method, host, path)
    assert found is not None
    assert found.name == name
    assert found.reason
    assert side_call("DELETE", host, path) is None
    assert side_call(method, host, "/other" + path) is None
    assert side_call(method, "not" + host, path) is None or host.count(".") > 1


def test_each_row_has_its_example() -> None:
    used = {side_call(method, host, path) for _, method, host, path in EXAMPLES}
    assert used == set(TABLE)


def test_every_side_call_stands_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "matching.md"
    text = reference.read_text("utf-8")
    assert [row.name for row in TABLE if f"`{row.name}`" not in text] == []


def test_an_ordinary_call_is_no_side_call() -> None:
    assert side_call("POST", "api.openai.com", "/v1/chat/completions") is None
    assert side_call("POST", "127.0.0.1", "/v1/traces/ingest") is None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_stub_is_one_whole_reply(row: object) -> None:
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    scanner.feed(stub_reply(row))  # type: ignore[arg-type]
    assert scanner.between_messages


def test_what_is_read_is_never_made_up() -> None:
    assert {row.stub for row in TABLE if row.method == "GET"} == {NOTHING}
