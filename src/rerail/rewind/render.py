"""A rewind's report as plain text: where, why there, what came of it, what to type next.

Text from a tape or the agent is not made safe for a terminal here: whoever prints does that.
"""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from rerail.compare.words import grouped
from rerail.playback.render import render
from rerail.playback.report import Divergence
from rerail.rewind.against import side_by_side
from rerail.rewind.report import Checked, Live, RewindReport, Scored

_NAMED: Final = 5
_SCORES: Final = 12
_AROUND: Final = 3


def lines(report: RewindReport) -> Iterator[str]:
    """The report, line by line."""
    if not report.reached:
        yield f"did not come to s{report.step}: the run left its recording before"
        yield from render(report.replay).rstrip("\n").split("\n")
        return
    tape = shlex.quote(report.replay.tape.path)
    status = report.replay.ended.status
    well = "well" if status == 0 else f"with status {status}"
    yield f"went back to s{report.step} of {tape} and on from there; the command ended {well}"
    yield from (f"  {line}".rstrip() for line in _whole(report))
    yield ""
    yield "next:"
    yield from (f"  {line}" for line in _next(report))


def _whole(report: RewindReport) -> Iterator[str]:
    if report.chosen:
        yield f"s{report.step} is {report.chosen}"
    if report.check is not None and len(report.check.scores) > 1:
        yield f"scores: {scores_text(report.check.scores, report.step)}"
    yield f"live: {_count(report.live.turns, 'model call')}{_tokens(report.live)}"
    yield from _changed(report)
    if report.check is not None:
        yield _check(report.check, report.step)
    yield from _files(report)
    yield from report.replay.notes
    yield from _refused(report)
    yield f"kept {shlex.quote(report.fork.path)}, a fork at s{report.step}"
    if report.against is not None:
        yield ""
        yield from side_by_side(report.against, report.live.turns)


def scores_text(scores: Sequence[Scored], step: int) -> str:
    """`s1 7, s2 2 <, end 5`: all of them, or of many those at the ends and around the step."""
    at = next((n for n, one in enumerate(scores) if one.step == step), 0)
    near = range(at - _AROUND, at + _AROUND + 1)
    many = len(scores) > _SCORES
    told: list[str] = []
    for number, one in enumerate(scores):
        if not many or number in near or number == 0 or number == len(scores) - 1:
            name = "end" if one.step is None else f"s{one.step}"
            errors = "?" if one.errors is None else str(one.errors)
            told.append(f"{name} {errors}{' <' if one.step == step else ''}")
        elif told[-1] != "…":
            told.append("…")
    return ", ".join(told)


def _changed(report: RewindReport) -> Iterator[str]:
    if report.hint_place is not None:
        place = report.hint_place
        moved = ", first since the agent cut its history" if place.moved else ""
        yield f"the hint stands after {_count(place.after, 'entry')} of `{place.field}`{moved}"
    own = [edit.kind for edit in report.edits if edit.step == report.step]
    for kind, line in (("answer", "a tool's answer was changed"), ("patch", "edited by a patch")):
        if kind in own:
            yield f"each request: {line}"
    earlier = [edit for edit in report.edits if edit.step < report.step]
    if earlier:
        steps = ", ".join(f"s{step}" for step in sorted({edit.step for edit in earlier}))
        yield f"still in place: {_count(len(earlier), 'edit')} of rewinds to {steps}"


def _check(check: Checked, step: int) -> str:
    before, after = _errors(check.errors_at_step), _errors(check.errors_at_end)
    why = f" ({check.why})" if check.why else ""
    level = "kept off the network" if check.level == "no network" else check.level
    kept = f"; the check was {level}" if level else ""
    return f"check: {before} at s{step}, {after}{why} at the end{kept}"


def _files(report: RewindReport) -> Iterator[str]:
    files = report.files_at_step
    if files is not None and files.differing:
        names = ", ".join(files.differs[:_NAMED])
        mended = ", put in place" if files.put_in_place else ""
        what = f"{files.differing} otherwise than recorded{mended}: {names}"
        yield f"files at s{report.step}: {what}"


def _refused(report: RewindReport) -> Iterator[str]:
    """Requests that neither the tape answers nor may go out; each with what would let it."""
    found = [one for one in _divergences(report) if one.answered == "refused" and one.step is None]
    named = dict.fromkeys(f"{one.method} {_place(one.url)}" for one in found)
    for number, request in enumerate(named):
        if number == _NAMED:
            yield f"and {len(named) - _NAMED} other requests were refused"
            break
        yield f"refused: {request}, since the tape has no answer to it as it was asked"
    if named:
        yield f"  let it reach its origin with --allow {shlex.quote(next(iter(named)))}"


def _divergences(report: RewindReport) -> list[Divergence]:
    first = report.replay.divergence
    return [*([first] if first else []), *report.replay.later_divergences]


def _place(url: str) -> str:
    return url.partition("://")[2].partition("?")[0]


def _next(report: RewindReport) -> Iterator[str]:
    tape, fork = shlex.quote(report.replay.tape.path), shlex.quote(report.fork.path)
    if report.ended_well:
        if report.replay.workspace is not None and report.replay.workspace.files != "in-place":
            yield f"rerail show {fork} --files end --extract DIR"
        yield f"rerail diff {tape} {fork}"
        yield f"rerail replay {fork}"
        return
    yield f"rerail steps {fork}"
    check = report.check
    if check is not None:
        count = f" --count {shlex.quote(check.count)}" if check.count else ""
        words = f"--check {shlex.quote(check.command)}{count}"
        yield f'rerail rewind {fork} --to best {words} --hint "…"'
    else:
        yield f'rerail rewind {tape} --to s{report.step} --hint "…" -n 4'
    yield f"rerail diff {tape} {fork}"


def _tokens(live: Live) -> str:
    if live.input_tokens is None and live.output_tokens is None:
        return ""
    told, said = grouped(live.input_tokens or 0), grouped(live.output_tokens or 0)
    return f", {told} tokens in, {said} out"


def _errors(number: int | None) -> str:
    return _count(number, "error") if number is not None else "no score"


def _count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
