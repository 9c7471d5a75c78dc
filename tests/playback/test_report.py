"""The report's form is the published schema, and every report keeps to it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rerail.playback.report import (
    FORMAT,
    Containment,
    Counts,
    Divergence,
    End,
    Report,
    TapeNamed,
    Verdict,
    schema,
    to_json,
)

PUBLISHED = Path(__file__).parents[2] / "spec" / "replay-report.schema.json"


def report(**changes: Any) -> Report:
    fields: dict[str, Any] = {
        "rerail": "0",
        "tape": TapeNamed(path="x.tape", id="sha256:0", run_id="r", task_id="t", state="finished"),
        "command": ["agent"],
        "recorded_command": ["agent"],
        "environment": [],
        "containment": Containment(level="no network"),
        "verdict": Verdict(green=True),
        "ended": End(status=0),
        "recorded_end": None,
        "pace": "fast",
        "duration_ms": 1.5,
        "on_divergence": "stop",
        "counts": Counts(),
    }
    return Report(**(fields | changes))


def test_the_published_schema_is_that_of_the_report() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == json.loads(json.dumps(schema())), (
        f"the report changed: write rerail.playback.report.schema() to {PUBLISHED.name}"
    )


def test_the_published_schema_is_one() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    assert published["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_a_report_keeps_to_the_schema_and_can_be_read_back() -> None:
    content = to_json(report())
    jsonschema.validate(json.loads(content), json.loads(PUBLISHED.read_text("utf-8")))
    assert msgspec.json.decode(content, type=Report) == report()
    assert json.loads(content)["format"] == FORMAT
    assert content.endswith(b"}\n")


def test_something_else_does_not_keep_to_the_schema() -> None:
    wrong = json.loads(to_json(report())) | {"on_divergence": "guess"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, json.loads(PUBLISHED.read_text("utf-8")))


def test_text_that_is_no_unicode_is_escaped() -> None:
    divergence = Divergence(
        request=1, kind="never_asked", text="\ud800", method="GET", url="https://h/\udcff"
    )
    content = json.loads(to_json(report(divergence=divergence, notes=["\ud83d"])))
    assert content["divergence"]["text"] == "\\ud800"
    assert content["divergence"]["url"] == "https://h/\\udcff"
