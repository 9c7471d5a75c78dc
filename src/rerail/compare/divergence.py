"""Where two requests differ, as data: the path of each difference, and the words that changed.

Paths of fields are spelled as `--ignore` takes them, so a person can copy one. Knows no recording.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import Final, Literal

from msgspec import Struct

from rerail.compare.body import READ_LIMIT, Reading, read_body
from rerail.compare.canon import Request, head_key
from rerail.compare.paths import at_index, at_key
from rerail.compare.redacted import blank_value
from rerail.compare.values import Value, show
from rerail.compare.volatile import Rules, blank
from rerail.compare.words import WordChange, common_prefix, grouped, shorten, word_changes

Kind = Literal["changed", "added", "removed"]

SHOWN: Final = 400
"""Characters of a value that are shown."""
LIMIT: Final = 50
"""Differences that are listed."""


_NO_FIELDS: Final = frozenset(("method", "scheme", "host", "port", "path", "target", "body"))


def can_be_ignored(path: str) -> bool:
    """Whether a difference's path is a field, which `--ignore` could leave out."""
    return path not in _NO_FIELDS and not path.startswith(("body line ", "body byte "))


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place at which two requests differ.

    `recorded` and `now` are cut for display; the sizes tell their whole length in characters. A
    value that is only on one side is None on the other. `words` says what changed inside a text.
    """

    path: str
    kind: Kind
    recorded: str | None = None
    now: str | None = None
    recorded_size: int = 0
    now_size: int = 0
    words: tuple[WordChange, ...] = ()


Excuse = Callable[[str, str], bool]
"""Whether a recorded and a present text may differ as they do: no difference then."""


def no_excuse(recorded: str, now: str) -> bool:
    """Every difference is one."""
    return False


def differences(
    recorded: Request, now: Request, rules: Rules, excuse: Excuse = no_excuse
) -> list[Difference]:
    """All differences that made two requests different, the head's first, at most `LIMIT`.

    Where nothing is left without what is excused, that is what they are.
    """
    found = _of_heads(recorded, now, rules, excuse) + _of_bodies(recorded, now, rules, excuse)
    if not found and excuse is not no_excuse:
        return differences(recorded, now, rules)
    if not found and recorded.target != now.target:
        found = [_changed("target", recorded.target, now.target)]
    return found[:LIMIT]


def _of_heads(recorded: Request, now: Request, rules: Rules, excuse: Excuse) -> list[Difference]:
    old, new = head_key(recorded, rules), head_key(now, rules)
    names = ("method", "scheme", "host", "port", "path")
    found = [
        _changed(name, str(a), str(b))
        for name, a, b in zip(names, old.endpoint, new.endpoint, strict=True)
        if a != b and not excuse(str(a), str(b))
    ]
    before, after = _grouped(old.loose), _grouped(new.loose)
    for name in [*before, *(name for name in after if name not in before)]:
        pairs = _of_field(name, before.get(name, []), after.get(name, []))
        found.extend(item for item in pairs if not excuse(item.recorded or "", item.now or ""))
    return found


def _grouped(fields: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in fields:
        text = value.partition("=")[2] if name.startswith("query:") else value
        grouped.setdefault(name, []).append(text)
    return grouped


def _of_field(name: str, recorded: list[str], now: list[str]) -> list[Difference]:
    """Differences of one header or query name, which may stand there several times."""
    missing, added = list(recorded), []
    for value in now:
        if value in missing:
            missing.remove(value)
        else:
            added.append(value)
    return [_one(name, old, new) for old, new in zip_longest(missing, added)]


def _one(path: str, recorded: Value, now: Value) -> Difference:
    if recorded is None:
        return _added(path, now)
    return _removed(path, recorded) if now is None else _changed(path, recorded, now)


def _of_bodies(recorded: Request, now: Request, rules: Rules, excuse: Excuse) -> list[Difference]:
    if recorded.body_digest == now.body_digest:
        return []
    old, new = _reading(recorded), _reading(now)
    if old is None or new is None:
        return [_changed("body", _summary(recorded), _summary(now))]
    if old.form in ("none", "bytes") or new.form in ("none", "bytes"):
        return _of_bytes(old.content, new.content)
    call = head_key(now, rules).call
    rows = rules.for_api(call.api if call else "")
    first, _ = blank(blank_value(old.value)[0], rows)
    second, _ = blank(blank_value(new.value)[0], rows)
    found = compare_values(first, second, excuse)
    return found if found or excuse is not no_excuse else _of_bytes(old.content, new.content)


def _reading(request: Request) -> Reading | None:
    if request.body is None or request.body_size > READ_LIMIT:
        return None
    encoding = request.header("content-encoding")
    return read_body(request.body, request.header("content-type"), encoding)


def _summary(request: Request) -> str:
    return f"{grouped(request.body_size)} bytes, sha256 {request.body_digest.hex()[:12]}…"


def compare_values(recorded: Value, now: Value, excuse: Excuse = no_excuse) -> list[Difference]:
    """The differences of two JSON values in reading order, at most `LIMIT`."""
    found: list[Difference] = []
    waiting: list[tuple[str, Value, Value]] = [("", recorded, now)]
    while waiting and len(found) < LIMIT:
        path, old, new = waiting.pop()
        if isinstance(old, _Missing):
            found.append(_added(path, new))
        elif isinstance(new, _Missing):
            found.append(_removed(path, old))
        elif isinstance(old, dict) and isinstance(new, dict):
            waiting.extend(reversed(_pairs_of_objects(path, old, new)))
        elif isinstance(old, list) and isinstance(new, list):
            waiting.extend(reversed(_pairs_of_lists(path, old, new)))
        elif not _equal(old, new) and not _is_excused(old, new, excuse):
            found.append(_changed(path or "body", old, new))
    return found


def _is_excused(old: Value, new: Value, excuse: Excuse) -> bool:
    return isinstance(old, str) and isinstance(new, str) and excuse(old, new)


class _Missing(str):
    """Stands for a value that is not there."""

    __slots__ = ()


_MISSING: Final = _Missing()
_Pairs = list[tuple[str, Value, Value]]


def _pairs_of_objects(path: str, old: dict[str, Value], new: dict[str, Value]) -> _Pairs:
    names = [*old, *(name for name in new if name not in old)]
    return [
        (at_key(path, name), old.get(name, _MISSING), new.get(name, _MISSING)) for name in names
    ]


def _pairs_of_lists(path: str, old: list[Value], new: list[Value]) -> _Pairs:
    """Items paired from the front and from the back; what is left between is one side's alone.

    So a message put into the middle of a history is one difference, not one for each after it.
    """
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if not _equal(old[at], new[at])), shorter)
    left = shorter - start
    end = next((at for at in range(left) if not _equal(old[~at], new[~at])), left)
    middle = zip_longest(
        old[start : len(old) - end], new[start : len(new) - end], fillvalue=_MISSING
    )
    return [(at_index(path, start + at), a, b) for at, (a, b) in enumerate(middle)]


def _equal(old: Value, new: Value) -> bool:
    """Equality that deep nesting cannot break: what cannot be compared is looked into."""
    try:
        return type(old) is type(new) and old == new
    except RecursionError:
        return False


def _of_bytes(old: bytes, new: bytes) -> list[Difference]:
    try:
        before, after = old.decode("utf-8"), new.decode("utf-8")
    except UnicodeDecodeError:
        return [_of_binary(old, new)]
    if "\n" not in before and "\n" not in after:
        return [_one("body", before or None, after or None)]
    pairs = _pairs_of_lists("", list(before.split("\n")), list(after.split("\n")))
    return [_of_line(path, a, b) for path, a, b in pairs[:LIMIT] if a != b]


def _of_line(path: str, old: Value, new: Value) -> Difference:
    name = f"body line {int(path[1:-1]) + 1}"
    if isinstance(old, _Missing):
        return _added(name, new)
    return _removed(name, old) if isinstance(new, _Missing) else _changed(name, old, new)


def _of_binary(old: bytes, new: bytes) -> Difference:
    at = common_prefix(old, new)
    return Difference(
        path=f"body byte {at}",
        kind="changed",
        recorded=f"{grouped(len(old))} bytes, here {old[at : at + 16].hex(' ') or 'ended'}",
        now=f"{grouped(len(new))} bytes, here {new[at : at + 16].hex(' ') or 'ended'}",
        recorded_size=len(old),
        now_size=len(new),
    )


def _changed(path: str, recorded: Value, now: Value) -> Difference:
    old, new = show(recorded), show(now)
    both_text = isinstance(recorded, str) and isinstance(now, str)
    return Difference(
        path=path,
        kind="changed",
        recorded=shorten(old, SHOWN),
        now=shorten(new, SHOWN),
        recorded_size=len(old),
        now_size=len(new),
        words=word_changes(old, new) if both_text else (),
    )


def _added(path: str, now: Value) -> Difference:
    text = show(now)
    return Difference(path=path, kind="added", now=shorten(text, SHOWN), now_size=len(text))


def _removed(path: str, recorded: Value) -> Difference:
    text = show(recorded)
    return Difference(
        path=path, kind="removed", recorded=shorten(text, SHOWN), recorded_size=len(text)
    )
