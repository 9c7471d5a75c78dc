"""The published form of a rewind's report."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rerail.playback.report import Containment, Counts, End, Report, TapeNamed
from rerail.playback.verdict import Verdict
from rerail.rewind.against import Account, Against
from rerail.rewind.files import FilesAtStep
from rerail.rewind.report import (
    Checked,
    EditMade,
    Fork,
    Live,
    RewindReport,
    Scored,
    schema,
    to_json,
)

PUBLISHED = Path(__file__).parents[2] / "spec" / "rewind-report.schema.json"


def report(*, status: int = 0, **fields: Any) -> RewindReport:
    replay = Report(
        rerail="0", tape=TapeNamed(path="runs/a.tape", id="sha256:0", run_id="r", task_id="t",
                                   state="finished"),
        command=["agent"], recorded_command=["agent"], environment=[],
        containment=Containment(level="contained"), verdict=Verdict(green=False),
        ended=End(status=status), recorded_end=End(status=1), pace="fast", duration_ms=1.0,
        on_divergence="stop", counts=Counts(),
    )  # fmt: skip
    given: dict[str, Any] = {
        "rerail": "0",
        "step": 4,
        "fork": Fork(path="runs/a.s4.tape", id="sha256:1", run_id="r2"),
        "reached": True,
        "ended_well": True,
        "live": Live(turns=1, input_tokens=1200, output_tokens=5),
        "replay": replay,
    }
    return RewindReport(**(given | fields))


def test_the_published_schema_is_that_of_the_report() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    assert published == json.loads(json.dumps(schema())), (
        f"the report changed: write rerail.rewind.report.schema() to {PUBLISHED.name}"
    )
    jsonschema.Draft202012Validator.check_schema(published)
    edits = [EditMade(step=4, kind="hint", text="a")]
    check = Checked(command="make", scores=[Scored(step=1, errors=2), Scored()])
    beside = Against(recorded=Account(), rewound=Account(ended="status 0"), differs=["~ a"])
    whole = report(edits=edits, files_at_step=FilesAtStep(), check=check, against=beside)
    jsonschema.validate(json.loads(to_json(whole)), published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(to_json(whole)), "step": "s4"}, published)
