"""What a person reads of a rewind, and the published form of its report."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rerail.playback.report import Containment, Counts, End, Report, TapeNamed
from rerail.playback.verdict import Verdict
from rerail.rewind.files import FilesAtStep
from rerail.rewind.report import (
    Checked,
    EditMade,
    Fork,
    HintPlace,
    Live,
    RewindReport,
    lines,
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


def told(**fields: Any) -> list[str]:
    return [line.strip() for line in lines(report(**fields))]


def test_where_it_went_back_to_what_it_cost_and_where_it_is_kept() -> None:
    assert told()[:3] == [
        "went back to s4 of runs/a.tape and on from there; the command ended well",
        "live: 1 model call, 1 200 tokens in, 5 out",
        "kept runs/a.s4.tape, a fork at s4",
    ]
    assert "the command ended with status 3" in told(status=3)[0]


def test_why_this_step_and_what_the_check_said() -> None:
    said = told(
        chosen="the last of 5 steps with the fewest errors (2)",
        check=Checked(command="make", errors_at_step=2, errors_at_end=1),
    )
    assert said[1] == "s4 is the last of 5 steps with the fewest errors (2)"
    assert "check: 2 errors at s4, 1 error at the end" in said
    unknown = told(check=Checked(command="make", errors_at_end=0))
    assert "check: no score at s4, 0 errors at the end" in unknown


def test_what_was_changed_now_and_by_rewinds_before() -> None:
    said = told(
        hint_place=HintPlace(field="messages", after=3),
        edits=[
            EditMade(step=2, kind="hint", text="a"),
            EditMade(step=4, kind="answer", text="{}"),
            EditMade(step=4, kind="patch", text="[]"),
        ],
    )
    assert "the hint stands after 3 entries of `messages`" in said
    assert "each request: a tool's answer was changed" in said
    assert "each request: edited by a patch" in said
    assert "still in place: 1 edit of rewinds to s2" in said


def test_files_that_were_otherwise_and_those_put_in_place() -> None:
    one = FilesAtStep(differing=1, differs=["a"])
    assert "files at s4: 1 otherwise than recorded: a" in told(files_at_step=one)
    mended = FilesAtStep(differing=1, differs=["a"], put_in_place=True)
    assert "files at s4: 1 otherwise than recorded, put in place: a" in told(files_at_step=mended)
    assert not any("files at" in line for line in told(files_at_step=FilesAtStep()))


def test_a_run_that_did_not_come_there_is_told_as_a_replay() -> None:
    said = told(reached=False)
    assert said[0] == "did not come to s4: the run left its recording before"
    assert not any(line.startswith("kept") for line in said)


def test_the_published_schema_is_that_of_the_report() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    assert published == json.loads(json.dumps(schema())), (
        f"the report changed: write rerail.rewind.report.schema() to {PUBLISHED.name}"
    )
    jsonschema.Draft202012Validator.check_schema(published)
    edits = [EditMade(step=4, kind="hint", text="a")]
    whole = report(edits=edits, files_at_step=FilesAtStep(), check=Checked(command="make"))
    jsonschema.validate(json.loads(to_json(whole)), published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(to_json(whole)), "step": "s4"}, published)
