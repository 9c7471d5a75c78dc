"""What a rewind did, as data: how far it came on the tape, what it did live, how it ended. Pure.

Its schema is published (`spec/rewind-report.schema.json`). Requests, events and steps are plain
numbers here, as in a replay's report. Fields are only added.
"""

import shlex
from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from rerail.capture.keeping import Kept
from rerail.compare.words import grouped
from rerail.llm.hint import Place
from rerail.llm.turns import Turn
from rerail.playback.render import render
from rerail.playback.report import Report
from rerail.rewind.files import FilesAtStep
from rerail.rewind.onward import Onward
from rerail.tape.records import Edit

FORMAT: Final = 1
SCHEMA_ID: Final = "urn:rerail:rewind-report:1"
_NAMED: Final = 5


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


class Checked(Struct, frozen=True, kw_only=True):
    """What a check said of the files before and after. null: it said nothing."""

    command: str
    count: str | None = None
    errors_at_step: int | None = None
    errors_at_end: int | None = None


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
    replay: Report


def make_report(
    replay: Report,
    onward: Onward,
    kept: Kept,
    taken: list[Turn],
    *,
    files: FilesAtStep | None = None,
    check: Checked | None = None,
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
            input_tokens=_sum([usage.input_tokens for usage in usages]),
            output_tokens=_sum([usage.output_tokens for usage in usages]),
        ),
        files_at_step=files,
        check=check,
        replay=replay,
    )


def _is_own_hint(edit: Edit, onward: Onward) -> bool:
    return edit.kind == "hint" and edit.step == onward.step


def _place(place: Place) -> HintPlace:
    return HintPlace(field=place.field, after=place.after, moved=place.moved)


def _sum(counts: list[int | None]) -> int | None:
    said = [count for count in counts if count is not None]
    return sum(said) if said else None


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


def lines(report: RewindReport) -> Iterator[str]:
    """The report for a person. What comes from a tape is not made safe here."""
    tape, fork = shlex.quote(report.replay.tape.path), shlex.quote(report.fork.path)
    if not report.reached:
        yield f"did not come to s{report.step}: the run left its recording before"
        yield from render(report.replay).rstrip("\n").split("\n")
        return
    status = report.replay.ended.status
    well = "well" if status == 0 else f"with status {status}"
    yield f"went back to s{report.step} of {tape} and on from there; the command ended {well}"
    if report.chosen:
        yield f"  s{report.step} is {report.chosen}"
    yield f"  live: {_count(report.live.turns, 'model call')}{_tokens(report.live)}"
    if report.hint_place is not None:
        place = report.hint_place
        moved = ", first since the agent cut its history" if place.moved else ""
        yield f"  the hint stands after {_count(place.after, 'entry')} of `{place.field}`{moved}"
    yield from (f"  {line}" for line in _edit_lines(report))
    if report.check is not None:
        before, after = _errors(report.check.errors_at_step), _errors(report.check.errors_at_end)
        yield f"  check: {before} at s{report.step}, {after} at the end"
    files = report.files_at_step
    if files is not None and files.differing:
        names = ", ".join(files.differs[:_NAMED])
        mended = ", put in place" if files.put_in_place else ""
        what = f"{files.differing} otherwise than recorded{mended}: {names}"
        yield f"  files at s{report.step}: {what}"
    yield from (f"  {note}" for note in report.replay.notes)
    yield f"  kept {fork}, a fork at s{report.step}"
    yield ""
    yield "next:"
    yield f"  rerail steps {fork}"
    yield f"  rerail replay {fork}"
    if report.replay.workspace is not None and report.replay.workspace.files != "in-place":
        yield f"  rerail show {fork} --files end --extract DIR"


def _tokens(live: Live) -> str:
    if live.input_tokens is None and live.output_tokens is None:
        return ""
    told, said = grouped(live.input_tokens or 0), grouped(live.output_tokens or 0)
    return f", {told} tokens in, {said} out"


def _edit_lines(report: RewindReport) -> Iterator[str]:
    own = [edit.kind for edit in report.edits if edit.step == report.step]
    for kind, line in (("answer", "a tool's answer was changed"), ("patch", "edited by a patch")):
        if kind in own:
            yield f"each request: {line}"
    earlier = [edit for edit in report.edits if edit.step < report.step]
    if earlier:
        steps = ", ".join(f"s{step}" for step in sorted({edit.step for edit in earlier}))
        yield f"still in place: {_count(len(earlier), 'edit')} of rewinds to {steps}"


def _errors(number: int | None) -> str:
    return _count(number, "error") if number is not None else "no score"


def _count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
