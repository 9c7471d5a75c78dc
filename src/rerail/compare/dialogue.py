"""A recorded dialogue of JSON-RPC, answered from: by method and parameters, ids as they are now.

Each message of the agent is looked for among those of the recording that have not come yet, the
earliest first. What the server said is said again when what it answers, or what came before it, has
come. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rerail.compare.values import Unreadable, Value, json_text, read_json, value_digest

_NOT_ON_TAPE: Final = b"-32001"
_TOKEN: Final = "progressToken"  # noqa: S105 - the name of a field

Spoken = tuple[bool, bytes, bool]
"""Whether the agent said it, the line, and whether it came in one piece with the one before."""


@dataclass(slots=True)
class _Message:
    """One recorded message. `after` counts the agent's messages before one of the server's."""

    value: dict[str, Value]
    key: bytes
    joined: bool
    after: int = 0
    used: bool = False


@dataclass(slots=True)
class Said:
    """What a line of the agent led to: the server's lines, and what was not on the tape.

    Lines that came in one piece are in one again: a client may take them otherwise one by one.
    """

    lines: list[bytes] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class Dialogue:
    """Answers an agent as the recorded server did."""

    def __init__(self, spoken: Sequence[Spoken]) -> None:
        self._asked: list[_Message] = []
        self._waiting: list[_Message] = []
        self._come = 0
        self._ids: dict[bytes, Value] = {}
        self._tokens: dict[bytes, Value] = {}
        for by_agent, line, joined in spoken:
            value = _object(line)
            if value is None:
                continue
            if by_agent:
                self._asked.append(_Message(value, _key(value), joined))
            else:
                self._waiting.append(_Message(value, b"", joined, after=len(self._asked)))

    def opening(self) -> list[bytes]:
        """What the server said before it was spoken to."""
        return self._due()

    def hear(self, line: bytes) -> Said:
        """A line of the agent."""
        value = _object(line)
        if value is None:
            return Said(unknown=["a line that is no JSON-RPC"])
        found = self._find(value)
        if found is not None:
            found.used = True
            self._come += 1
            self._learn(found.value, value)
            return Said(self._due())
        if "method" not in value or "id" not in value:
            # Nobody waits for an answer: a cancellation whose time has come earlier, for one.
            return Said()
        what = _name(value)
        return Said([_refusal(value["id"], what)], [what])

    def _find(self, value: dict[str, Value]) -> _Message | None:
        key = _key(value)
        return next((m for m in self._asked if not m.used and m.key == key), None)

    def _learn(self, recorded: dict[str, Value], now: dict[str, Value]) -> None:
        """The ids and tokens that stand for the recorded ones from now on."""
        if "method" in recorded and "id" in recorded:
            self._ids[value_digest(recorded["id"])] = now.get("id")
        old, new = _token(recorded), _token(now)
        if old is not None:
            self._tokens[value_digest(old)] = new

    def _due(self) -> list[bytes]:
        """The server's messages whose time has come, in recorded order."""
        due = [message for message in self._waiting if self._is_due(message)]
        self._waiting = [message for message in self._waiting if message not in due]
        lines: list[bytes] = []
        for message in due:
            line = self._line(message.value)
            if lines and message.joined:
                lines[-1] += line
            else:
                lines.append(line)
        return lines

    def _is_due(self, message: _Message) -> bool:
        value = message.value
        if "method" not in value:
            return value_digest(value.get("id")) in self._ids
        params = value.get("params")
        token = params.get(_TOKEN) if isinstance(params, dict) else None
        if token is not None:
            return value_digest(token) in self._tokens
        return self._come >= message.after

    def _line(self, recorded: dict[str, Value]) -> bytes:
        value = dict(recorded)
        if "method" not in value:
            value["id"] = self._ids[value_digest(value.get("id"))]
        params = value.get("params")
        if isinstance(params, dict) and _TOKEN in params:
            value["params"] = params | {_TOKEN: self._tokens[value_digest(params[_TOKEN])]}
        return json_text(value).encode("utf-8", "surrogatepass") + b"\n"


def _object(line: bytes) -> dict[str, Value] | None:
    try:
        value = read_json(line)
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None


def _key(value: dict[str, Value]) -> bytes:
    """What makes two messages of the agent equal: an answer by its id, all else by what it asks."""
    if "method" not in value:
        return value_digest(["answer", value.get("id")])
    params = value.get("params")
    if isinstance(params, dict):
        params = _without_token(params)
    return value_digest([value["method"], "id" in value, params or None])


def _without_token(params: dict[str, Value]) -> dict[str, Value]:
    """A progress token is the client's own, and made anew in each run."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return params
    rest: dict[str, Value] = {name: item for name, item in meta.items() if name != _TOKEN}
    others = {name: item for name, item in params.items() if name != "_meta"}
    return others | {"_meta": rest} if rest else others


def _token(value: dict[str, Value]) -> Value:
    params = value.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(_TOKEN) if isinstance(meta, dict) else None


def _name(value: dict[str, Value]) -> str:
    """`tools/call add` in a report."""
    params = value.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    method = value.get("method")
    words = [word for word in (method, name) if isinstance(word, str)]
    return " ".join(words)[:200]


def _refusal(identity: Value, what: str) -> bytes:
    message = f"rerail: `{what}` is not on the tape that is being replayed"
    error: dict[str, Value] = {"code": _NOT_ON_TAPE, "message": message}
    reply: dict[str, Value] = {"jsonrpc": "2.0", "id": identity, "error": error}
    return json_text(reply).encode("utf-8", "surrogatepass") + b"\n"
