"""Fields that say nothing about what is asked: one table, and what a user adds with `--ignore`.

A rule stands here because somebody knows that a client makes the value up anew in every run, never
because two outputs were seen to differ. Each use is named and counted. Headers need no rows: only
the few in `rerail.compare.canon` are compared at all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from rerail.compare.paths import Path, parse_path, places
from rerail.compare.values import ANYTHING, Value, show, value_digest
from rerail.errors import UsageProblem
from rerail.llm.calls import ModelCall

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True)
class BodyRule:
    """A field of a body that is left out, or (with a `pattern`) the part of it that is.

    `api` is a name of `rerail.llm.calls`, empty for any request.
    """

    name: str
    api: str
    path: Path
    reason: str
    pattern: re.Pattern[str] | None = None


def _row(name: str, api: str, path: str, pattern: str, reason: str) -> BodyRule:
    compiled = re.compile(pattern) if pattern else None
    return BodyRule(name, api, parse_path(path), reason, compiled)


TABLE: Final = (
    _row(
        "claude-code session",
        "anthropic.messages",
        "metadata.user_id",
        rf"session(?:_id)?(?:_|\": ?\"){_UUID}",
        "Claude Code puts the id of its session into metadata.user_id",
    ),
    _row(
        "claude-code device",
        "anthropic.messages",
        "metadata.user_id",
        r"user_[0-9a-f]{64}|\"device_id\": ?\"[0-9a-f]{64}\"",
        "Claude Code puts a random id of this installation into metadata.user_id",
    ),
    _row(
        "claude-code check value",
        "anthropic.messages",
        "system[*].text",
        r"\bcch=[0-9a-f]{5}\b",
        "Claude Code puts a check value over the rest of the body into its system prompt",
    ),
    _row(
        "gemini-cli process group",
        "openai.chat_completions",
        "messages[*].content",
        r"Process Group PGID: \d+\b",
        "Gemini CLI, and Qwen Code after it, write a command's process group into its output",
    ),
    _row(
        "gemini-cli process group",
        "openai.chat_completions",
        "messages[*].content[*].text",
        r"Process Group PGID: \d+\b",
        "Gemini CLI, and Qwen Code after it, write a command's process group into its output",
    ),
    _row(
        "gemini-cli process group",
        "gemini.generate_content",
        "contents[*].parts[*].functionResponse.response.output",
        r"Process Group PGID: \d+\b",
        "Gemini CLI, and Qwen Code after it, write a command's process group into its output",
    ),
    _row(
        "openai-agents cache key",
        "",
        "prompt_cache_key",
        r"^agents-sdk:run:[0-9a-f]+$",
        "openai-agents makes a cache key for each run",
    ),
    _row(
        "session cache key",
        "openai.responses",
        "prompt_cache_key",
        rf"^{_UUID}$",
        "coding agents use the id of their session as the cache key",
    ),
    _row(
        "codex item id",
        "openai.responses",
        "input[*].id",
        rf"^(?:at|msg|ctco|fco)_{_UUID}$",
        "Codex gives every item that it makes a time-based id",
    ),
    _row(
        "codex item metadata",
        "openai.responses",
        "input[*].metadata.create_time",
        "",
        "Codex puts the time at which it made an item into the item",
    ),
    _row(
        "codex item metadata",
        "openai.responses",
        "input[*].metadata.turn_id",
        "",
        "Codex puts the id of its turn into the item",
    ),
    _row(
        "codex item metadata",
        "openai.responses",
        "input[*].internal_chat_message_metadata_passthrough.create_time",
        "",
        "Codex puts the time at which it made an item into the item",
    ),
    _row(
        "codex item metadata",
        "openai.responses",
        "input[*].internal_chat_message_metadata_passthrough.turn_id",
        "",
        "Codex puts the id of its turn into the item",
    ),
    _row(
        "codex client metadata",
        "openai.responses",
        "client_metadata",
        "",
        "Codex describes its session, window and start times in client_metadata",
    ),
    _row(
        "codex chunk id",
        "openai.responses",
        "input[*].output",
        r"Chunk ID: [0-9a-f]{6}\b",
        "Codex gives each piece of a tool's output a random id",
    ),
    _row(
        "codex wall time",
        "openai.responses",
        "input[*].output",
        r"Wall time:? [0-9.]+ seconds\b",
        "Codex writes how long a tool ran into its output",
    ),
    _row(
        "codex chunk id",
        "openai.responses",
        "input[*].output[*].text",
        r"Chunk ID: [0-9a-f]{6}\b",
        "Codex gives each piece of a tool's output a random id",
    ),
    _row(
        "codex wall time",
        "openai.responses",
        "input[*].output[*].text",
        r"Wall time:? [0-9.]+ seconds\b",
        "Codex writes how long a tool ran into its output",
    ),
)


@dataclass(frozen=True, slots=True)
class Blanked:
    """A value that a rule took out: where, and (as a digest) what it was."""

    rule: str
    path: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule as the report lists it."""

    name: str
    reason: str
    source: Literal["table", "user"]


class Rules:
    """All rules of one replay: the table, and the user's.

    `ignore` holds what `--ignore` was given: a JSON path such as `messages[*].id`, `query:NAME` or
    `header:NAME`. Raises `UsageProblem` where one cannot be read.
    """

    __slots__ = ("_by_api", "_user", "headers", "queries")

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        self.headers: frozenset[str] = frozenset()
        self.queries: frozenset[str] = frozenset()
        self._user: list[BodyRule] = []
        self._by_api: dict[str, tuple[BodyRule, ...]] = {}
        for text in ignore:
            self._add(text)

    def _add(self, text: str) -> None:
        kind, colon, name = text.partition(":")
        if kind in ("header", "query") and colon:
            if not name.strip():
                raise UsageProblem(
                    f"`--ignore {text}` names no {kind}", hint=f"write `--ignore {kind}:NAME`"
                )
            if kind == "header":
                self.headers |= {name.strip().lower()}
            else:
                self.queries |= {name.strip()}
            return
        self._user.append(BodyRule(ignored(text), "", parse_path(text), _ASKED))

    def for_api(self, api: str) -> tuple[BodyRule, ...]:
        """The body rules for requests to an API; "" for one that is no model call."""
        found = self._by_api.get(api)
        if found is None:
            rows = tuple(rule for rule in TABLE if rule.api in ("", api))
            found = self._by_api[api] = rows + tuple(self._user)
        return found

    def for_call(self, call: ModelCall | None) -> tuple[BodyRule, ...]:
        """The body rules for a model call; None for a request that is none."""
        return self.for_api(call.api if call else "")

    def listed(self) -> list[ListedRule]:
        """Every rule that could apply, each name once."""
        rows = {rule.name: ListedRule(rule.name, rule.reason, "table") for rule in TABLE}
        names = [rule.name for rule in self._user]
        names += [ignored(f"header:{name}") for name in sorted(self.headers)]
        names += [ignored(f"query:{name}") for name in sorted(self.queries)]
        rows |= {name: ListedRule(name, _ASKED, "user") for name in names}
        return list(rows.values())


_ASKED: Final = "asked for with --ignore"


def ignored(what: str) -> str:
    """The name of a rule that a user asked for."""
    return f"ignored {what}"


def blank(value: Value, rules: Iterable[BodyRule]) -> tuple[Value, tuple[Blanked, ...]]:
    """The value, changed in place, without what the rules take out; and what that was."""
    holder: list[Value] = [value]
    found: list[Blanked] = []
    for rule in rules:
        found.extend(_apply(holder, rule))
    return holder[0], tuple(found)


def _apply(holder: list[Value], rule: BodyRule) -> Iterable[Blanked]:
    for place in places(holder[0], rule.path):
        value = place.value
        if rule.pattern is None:
            digest = value_digest(value)
            if isinstance(place.container, dict):
                del place.container[str(place.key)]
            else:
                place.put(ANYTHING)
            yield Blanked(rule.name, place.text, digest)
        elif isinstance(value, str) and rule.pattern.search(value):
            parts = [match[0] for match in rule.pattern.finditer(value)]
            place.put(rule.pattern.sub(f"⟦{rule.name}⟧", value))
            yield Blanked(rule.name, place.text, value_digest(show(list(parts))))
