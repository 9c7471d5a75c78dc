"""No file, however odd, makes an importer fail: it is a story, or refused with a hint."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerail.formats.file import ImportRefused
from rerail.formats.reading import import_file
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect

WORDS = st.sampled_from(
    [
        "user", "assistant", "tool", "system", "result", "text", "tool_use", "tool_result",
        "message", "session_meta", "response_item", "event_msg", "function_call",
        "function_call_output",
        "trace", "trace.span", "generation", "function", "chat", "execute_tool", "2026-01-02",
        "{", "", "²", "9" * 5000,
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "type", "message", "role", "content", "id", "payload", "sessionId", "uuid", "timestamp",
        "object", "span_data", "trace_id", "input", "output", "resourceSpans", "scopeSpans",
        "spans", "attributes", "key", "value", "stringValue", "arrayValue", "values",
        "trajectory", "action",
        "observation", "history", "info", "messages", "traj", "tool_calls", "usage", "name",
        "arguments", "status", "data", "error", "tools", "started_at", "startTimeUnixNano",
    ]
)  # fmt: skip
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
SHAPES = st.sampled_from(
    [
        lambda value: {"type": "user", "sessionId": "s", "message": value},
        lambda value: {
            "type": "assistant",
            "session_id": "s",
            "message": {"id": "m", "content": value},
        },
        lambda value: {"type": "response_item", "payload": {"type": "message", "content": value}},
        lambda value: {"type": "event_msg", "payload": {"type": value}},
        lambda value: {"object": "trace.span", "span_data": {"type": "generation", "input": value}},
        lambda value: {"object": "trace.span", "error": value, "span_data": {"type": "function"}},
        lambda value: {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": value}]}]}]},
        lambda value: {"trajectory": [{"action": value, "observation": value}], "history": value},
        lambda value: {"messages": [{"role": "tool", "content": value, "tool_calls": value}]},
        lambda value: value,
    ]
)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(shape=SHAPES, values=st.lists(VALUES, min_size=1, max_size=4), as_lines=st.booleans())
def test_any_json_is_read_or_refused(
    tmp_path: Path, shape: Any, values: list[Any], as_lines: bool
) -> None:
    path = tmp_path / "any.json"
    shaped = [shape(value) for value in values]
    if as_lines:
        path.write_text("".join(json.dumps(one) + "\n" for one in shaped))
    else:
        path.write_text(json.dumps(shaped[0], indent=1))
    try:
        imported = import_file(path)
    except ImportRefused as refused:
        assert refused.hint
        return
    for story in imported.stories:
        orders = [said.order for said in story.said]
        assert orders == sorted(orders)
        assert story.gaps
        assert not story.recorded
    detect(Material(imported.stories))


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.bin"
    path.write_bytes(content)
    try:
        import_file(path)
    except ImportRefused as refused:
        assert refused.hint


def test_a_packed_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x00")
    with pytest.raises(ImportRefused):
        import_file(path)
