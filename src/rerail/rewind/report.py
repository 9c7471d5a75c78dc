"""What a rewind did, as data: how far it came on the tape, what it did live, how it ended. Pure.

Its schema is published (`spec/rewind-report.schema.json`). Requests, events and steps are plain
numbers here, as in a replay's report. Fields are only added.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from rerail.capture.keeping import KeptTape
from rerail.llm.hint import Place
from rerail.llm.turns import Turn
from rerail.playback.report import Report
from rerail.rewind.against import Against, total
from rerail.rewind.files import FilesAtStep
from rerail.rewind.onward import Onward
from rerail.tape.records import Edit

FORMAT: Final = 1
SCHEMA_ID: Final = "urn:rerail:rewind-report:1"


def _says(text: str) -> Meta:
    return Meta(description=text)


class Fork(Struct, frozen=True, kw_only=True):
    """The tape of the rewound run."""

    path: str
    id: str
    run_id: str


class HintPlace(Struct, frozen=True, kw_only=True):
    """Where the hint stands in the requests that the model was sent."""

    field: str
    after: Annotated[int, _says("after so many entries of `field`")]
    moved: Annotated[
        bool, _says("the agent cut its history shorter than the place: the hint stands first")
    ] = False


class EditMade(Struct, frozen=True, kw_only=True):
    """What was changed in each request of the conversation, from a step on."""

    step: Annotated[int, _says("an earlier one than the report's: by a rewind before this one")]
    kind: str
    text: str


class Scored(Struct, frozen=True, kw_only=True):
    """What the check said of the recorded files of one step, or of the end."""

    step: Annotated[int | None, _says("null: the end of the recorded run")] = None
    errors: Annotated[int | None, _says("null: no score")] = None
    why: Annotated[str, _says("why there is no score")] = ""


class Checked(Struct, frozen=True, kw_only=True):
    """What a check said of the files before and after. null: it said nothing."""

    command: str
    count: str | None = None
    errors_at_step: int | None = None
    errors_at_end: int | None = None
    why: Annotated[str, _says("why there is no score of the end")] = ""
    level: Annotated[str, _says("what kept the check in its copy: a replay's levels")] = ""
    scores: Annotated[
        list[Scored], _says("of the recorded run, as far as they were asked for")
    ] = []


class Live(Struct, frozen=True, kw_only=True):
    """What was asked of the live model. Tokens are as the provider counted them."""

    turns: int = 0
    input_tokens: Annotated[int | None, _says("null: the provider did not say")] = None
    output_tokens: int | None = None


class RewindReport(Struct, frozen=True, kw_only=True):
    """One rewound run. `replay` is the replay's own report: the way to the step, and the end."""

    format: int = FORMAT
    rerail: str
    step: int
    hint: Annotated[str, _says("of this rewind; those of earlier ones are among `edits`")] = ""
    edits: list[EditMade] = []
    turns: Annotated[int | None, _says("the budget of further turns; null: none")] = None
    fork: Fork
    reached: Annotated[bool, _says("the run followed its recording to the step and went live")]
    ended_well: Annotated[
        bool,
        _says("it reached the step, the command ended with status 0, a check found no errors"),
    ]
    chosen: Annotated[str, _says("why this step; empty where a person named it")] = ""
    hint_place: HintPlace | None = None
    live: Live
    files_at_step: Annotated[
        FilesAtStep | None, _says("null: one of the two tapes has no snapshot of the step")
    ] = None
    check: Annotated[Checked | None, _says("null: there was none, or nothing to check")] = None
    against: Annotated[Against | None, _says("the recorded run; null: nothing went live")] = None
    replay: Report


def make_report(
    replay: Report,
    onward: Onward,
    kept: KeptTape,
    taken: list[Turn],
    *,
    files: FilesAtStep | None = None,
    check: Checked | None = None,
    against: Against | None = None,
    chosen: str = "",
) -> RewindReport:
    """Put a report together; `taken` are the turns of the fork's tape that went live."""
    place = onward.edits.hint_place
    usages = [turn.completion.usage for turn in taken if turn.completion]
    return RewindReport(
        rerail=replay.rerail,
        step=onward.step,
        hint=next((e.text for e in onward.edits.records if _is_own_hint(e, onward)), ""),
        edits=[EditMade(step=e.step, kind=e.kind, text=e.text) for e in onward.edits.records],
        turns=onward.turns,
        fork=Fork(path=str(kept.tape), id=kept.tape_id, run_id=kept.run_id),
        reached=onward.begun,
        ended_well=onward.begun
        and replay.ended.status == 0
        and (check is None or check.errors_at_end == 0),
        chosen=chosen,
        hint_place=_place(place) if place else None,
        live=Live(
            turns=len(onward.taken),
            input_tokens=total([usage.input_tokens for usage in usages]),
            output_tokens=total([usage.output_tokens for usage in usages]),
        ),
        files_at_step=files,
        check=check,
        against=against,
        replay=replay,
    )


def _is_own_hint(edit: Edit, onward: Onward) -> bool:
    return edit.kind == "hint" and edit.step == onward.step


def _place(place: Place) -> HintPlace:
    return HintPlace(field=place.field, after=place.after, moved=place.moved)


def to_json(report: RewindReport) -> bytes:
    """The report as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a report: what `spec/` publishes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "rerail rewind report",
        **msgspec.json.schema(RewindReport),
    }
