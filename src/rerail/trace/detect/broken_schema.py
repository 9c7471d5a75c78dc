"""A tool was called against its own schema: a field missing, of another type, or unknown to it.

Checks what every JSON schema of a tool has; a rule of another kind is passed by.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rerail.trace.detect.detector import OverStory, place
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _find(reading: Reading) -> Iterator[Finding]:
    tools = reading.story.tools
    for call in reading.calls if tools else ():
        said = reading.said[call.asked]
        if call.name not in tools:
            yield DETECTOR.finding(
                f"{call.name} was called, and no such tool had been offered",
                [place(reading.story, said, call.same)],
                said.order,
                contradicts=f"the tools offered: {', '.join(sorted(tools))}",
            )
            continue
        broken = next(_broken(call.call.arguments, tools[call.name], ""), None)
        if broken:
            yield DETECTOR.finding(
                f"{call.name} was called against its schema: {broken}",
                [place(reading.story, said, call.same)],
                said.order,
                contradicts=f"the schema of {call.name}: {broken}",
            )


def _broken(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str) and not path:
        return
    here = path or "its arguments"
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if names and not any(_is(value, name) for name in names):
        yield f"{here} should be {' or '.join(map(str, names))}"
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{here} should be one of {', '.join(map(str, choices[:8]))}"
    if isinstance(value, dict):
        yield from _broken_object(value, schema, path)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for number, item in enumerate(value):
            yield from _broken(item, items, f"{path}[{number}]")


def _broken_object(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    required, known = schema.get("required"), schema.get("properties")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            yield f"{_inside(path, name)} is missing"
    known = known if isinstance(known, dict) else {}
    for name, inner in value.items():
        if isinstance(known.get(name), dict):
            yield from _broken(inner, known[name], _inside(path, name))
        elif schema.get("additionalProperties") is False and name not in known:
            yield f"{_inside(path, name)} is not known to it"


def _is(value: Any, name: Any) -> bool:
    if isinstance(value, bool):
        return bool(name == "boolean")
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    known = _TYPES.get(str(name))
    return known is None or isinstance(value, known)


def _inside(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


DETECTOR = OverStory(
    "broken-schema", "agent", "structure", "arguments against the schemas offered", _find
)
DETECTORS = [DETECTOR]
