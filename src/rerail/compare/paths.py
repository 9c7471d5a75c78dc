"""Paths into a JSON value, as people type them: `messages[*].id`, `$.metadata.user_id`, `..id`.

One grammar for what is ignored and for what a report names. Knows values, no HTTP.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rerail.compare.values import Value, walk
from rerail.errors import UsageProblem


@dataclass(frozen=True, slots=True)
class Step:
    """One step: into a key, to an index, to everything in here, or to a key at any depth."""

    kind: Literal["key", "index", "each", "deep"]
    name: str = ""
    index: int = 0


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a value: what holds it, under which key, and its path in words."""

    container: dict[str, Value] | list[Value]
    key: str | int
    text: str

    @property
    def value(self) -> Value:
        if isinstance(self.container, dict):
            assert isinstance(self.key, str)
            return self.container[self.key]
        assert isinstance(self.key, int)
        return self.container[self.key]

    def put(self, value: Value) -> None:
        """Give this place another value."""
        if isinstance(self.container, dict):
            assert isinstance(self.key, str)
            self.container[self.key] = value
        else:
            assert isinstance(self.key, int)
            self.container[self.key] = value


_TOKEN: Final = re.compile(
    r"""\.\.(?P<deep>[^.\[\]*]+)
      | \[\*\] | \.\*
      | \[(?P<index>-?\d+)\]
      | \[(?P<quote>["'])(?P<quoted>.*?)(?P=quote)\]
      | \.?(?P<name>[^.\[\]*]+)""",
    re.VERBOSE,
)


def parse_path(text: str) -> Path:
    """Read a path. Raises `UsageProblem` where it is none, with the grammar as its hint."""
    rest = text.removeprefix("$")
    steps: list[Step] = []
    at = 0
    while at < len(rest):
        token = _TOKEN.match(rest, at)
        if token is None or (at and token["name"] and rest[at] != "."):
            break
        steps.append(_step(token))
        at = token.end()
    if at < len(rest) or not steps:
        raise UsageProblem(
            f"cannot read the path `{text}`",
            hint="a path is like messages[*].id, metadata.user_id, ..id or tools[0]['odd.key']",
        )
    return tuple(steps)


def _step(token: re.Match[str]) -> Step:
    if token["deep"]:
        return Step("deep", name=token["deep"])
    if token["index"]:
        return Step("index", index=int(token["index"]))
    name = token["quoted"] if token["quote"] else token["name"]
    return Step("each") if name is None else Step("key", name=name)


def places(root: Value, path: Path) -> list[Place]:
    """All places in `root` that a path leads to."""
    found = [Place([root], 0, "")]
    for step in path:
        found = [inner for place in found for inner in _inside(place, step)]
    return found


def _inside(place: Place, step: Step) -> Iterator[Place]:
    value = place.value
    if step.kind == "deep":
        yield from _beneath(place, step.name)
    elif isinstance(value, dict):
        names = value if step.kind == "each" else [step.name] if step.name in value else []
        for name in names:
            yield Place(value, name, at_key(place.text, name))
    elif isinstance(value, list) and step.kind != "key":
        wanted = range(len(value)) if step.kind == "each" else [step.index]
        for index in wanted:
            if -len(value) <= index < len(value):
                yield Place(value, index % len(value), at_index(place.text, index % len(value)))


def _beneath(place: Place, name: str) -> Iterator[Place]:
    """Whole paths are not kept while walking: a deep place is named by its key alone."""
    for container, key in list(walk(place.value)):
        if key == name:
            yield Place(container, key, f"..{name}")


_PLAIN: Final = re.compile(r"[^.\[\]*\s'\"]+")


def at_key(path: str, key: str) -> str:
    """The path of a key in what `path` leads to."""
    if not _PLAIN.fullmatch(key):
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key


def at_index(path: str, index: int) -> str:
    """The path of a list item in what `path` leads to."""
    return f"{path}[{index}]"
