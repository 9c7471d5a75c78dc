"""Requests that clients make for themselves: telemetry, traces, price lists, model lists.

Their bodies are made anew in every run and nothing of the agent's work depends on the replies, so
they are answered by method, host and path alone; they never make a replay diverge and never make it
green. Only known hosts and paths stand here, nothing is guessed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class SideCall:
    """One kind of side call. `host` ends the host name, `path` is the whole path.

    `stub` is the status of the reply where the tape has none to give. What a client would take for
    an answer is not made up: such a call is told that there is nothing, which every client here is
    prepared for.
    """

    name: str
    method: str
    host: str
    path: re.Pattern[str]
    reason: str
    stub: int


NOTHING: Final = 404


def _row(name: str, request: str, reason: str, *, stub: int = NOTHING) -> SideCall:
    method, _, url = request.partition(" ")
    host, _, path = url.partition("/")
    return SideCall(name, method, host, re.compile("/" + path), reason, stub)


def stub_reply(row: SideCall) -> bytes:
    """A whole reply that says "taken", or "there is none", and nothing else."""
    if row.stub == 204:
        return b"HTTP/1.1 204 No Content\r\nX-Rerail-Stub: 1\r\n\r\n"
    return (
        b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        b"X-Rerail-Stub: 1\r\n\r\n{}"
    ) % (row.stub, _PHRASES[row.stub])


_PHRASES: Final = {200: b"OK", 202: b"Accepted", NOTHING: b"Not Found"}


TABLE: Final = (
    _row(
        "openai-agents traces",
        r"POST api.openai.com/v1/traces/ingest",
        "openai-agents uploads its traces, with random ids and times",
        stub=204,
    ),
    _row(
        "openai model list",
        r"GET api.openai.com/v1/models",
        "coding agents ask for the model list as often as their timers say",
    ),
    _row(
        "codex model list",
        r"GET chatgpt.com/backend-api/codex/models",
        "Codex asks for the model list as often as its timers say",
    ),
    _row(
        "codex plugin list",
        r"GET chatgpt.com/backend-api/plugins/(?:[\w-]+/)*[\w-]+",
        "Codex fetches its list of plugins, from whichever of three hosts answers",
    ),
    _row(
        "codex plugin list",
        r"GET api.github.com/repos/openai/plugins",
        "Codex fetches its list of plugins, from whichever of three hosts answers",
    ),
    _row(
        "codex plugin list",
        r"GET github.com/openai/plugins(?:\.git)?/info/refs",
        "Codex fetches its list of plugins, from whichever of three hosts answers",
    ),
    _row(
        "codex metrics",
        r"POST ab.chatgpt.com/otlp/v1/(?:metrics|logs|traces)",
        "Codex uploads its metrics, with random ids, times and another order each time",
        stub=200,
    ),
    _row(
        "codex analytics",
        r"POST chatgpt.com/backend-api/codex/analytics-events/events",
        "Codex uploads its analytics, with random ids and times",
        stub=200,
    ),
    _row(
        "codex update check",
        r"GET api.github.com/repos/openai/codex/releases/latest",
        "Codex looks for a newer version of itself",
    ),
    _row(
        "claude-code feature flags",
        r"POST api.anthropic.com/api/eval/[\w-]+",
        "Claude Code asks which features are on, with a random id of this installation",
    ),
    _row(
        "claude-code settings",
        r"GET api.anthropic.com/api/claude_code/(?:policy_limits|settings)",
        "Claude Code asks for its organisation's settings at its start",
    ),
    _row(
        "claude-code settings",
        r"GET api.anthropic.com/api/(?:claude_cli/bootstrap|claude_code_penguin_mode)",
        "Claude Code asks for its organisation's settings at its start",
    ),
    _row(
        "claude-code metrics check",
        r"GET api.anthropic.com/api/claude_code/organizations/metrics_enabled",
        "Claude Code asks whether metrics are wanted, more or less often",
    ),
    _row(
        "claude-code mcp registry",
        r"GET api.anthropic.com/mcp-registry/v0/servers",
        "Claude Code fetches a list of MCP servers, more or less often",
    ),
    _row(
        "claude-code update check",
        r"GET downloads.claude.ai/claude-code-releases/.+",
        "Claude Code looks for a newer version of itself",
    ),
    _row(
        "claude-code event batch",
        r"POST api.anthropic.com/api/event_logging(?:/v2)?/batch",
        "Claude Code uploads its telemetry, with random ids and times",
        stub=200,
    ),
    _row(
        "claude-code metrics",
        r"POST api.anthropic.com/api/claude_code/metrics",
        "Claude Code uploads its metrics, with random ids and times",
        stub=200,
    ),
    _row(
        "langsmith runs",
        r"POST api.smith.langchain.com/runs/(?:batch|multipart)",
        "LangSmith uploads traces, with random ids and times",
        stub=202,
    ),
    _row(
        "litellm price list",
        r"GET raw.githubusercontent.com/BerriAI/litellm/.*/?model_prices_and_context.*\.json",
        "litellm and aider fetch a price list, more or less often",
    ),
    _row(
        "aider update check",
        r"GET pypi.org/pypi/aider-chat/json",
        "aider looks for a newer version of itself",
    ),
    _row(
        "qwen-code analytics",
        r"POST gb4w8c3ygj-default-sea.rum.aliyuncs.com/",
        "Qwen Code uploads analytics, with random ids and times",
        stub=200,
    ),
    _row(
        "posthog analytics",
        r"POST i.posthog.com/(?:batch|capture|e|i/v0/e|decide|flags)/?",
        "PostHog uploads analytics, with random ids and times",
        stub=200,
    ),
    _row(
        "sentry reports",
        r"POST sentry.io/api/\d+/(?:envelope|store)/",
        "Sentry uploads reports, with random ids and times",
        stub=200,
    ),
    _row(
        "statsig events",
        r"POST statsig.anthropic.com/v1/(?:rgstr|log_event|initialize)",
        "Claude Code fetches feature flags and uploads their use, with random ids and times",
        stub=200,
    ),
    _row(
        "datadog logs",
        r"POST datadoghq.com/api/v2/logs",
        "Datadog's intake takes logs, with random ids and times",
        stub=202,
    ),
)


@lru_cache(maxsize=1024)
def side_call(method: str, host: str, path: str) -> SideCall | None:
    """The side call that a request is, or None. `host` in lower case, `path` without a query."""
    for row in TABLE:
        belongs = host == row.host or host.endswith("." + row.host)
        if row.method == method and belongs and row.path.fullmatch(path):
            return row
    return None
