"""A report as plain text for a person: the verdict first, then what to look at, then what to type.

Text from the tape or the agent is not made safe for a terminal here: whoever prints does that.
"""

import shlex
from collections.abc import Iterator
from typing import Final

from rerail.compare.divergence import Difference, can_be_ignored
from rerail.compare.words import WordChange, grouped
from rerail.playback.report import (
    ChildUse,
    Divergence,
    Recording,
    Report,
    Tried,
    Unused,
    WorkspaceUsed,
)

_DIFFERENCES: Final = 5
_WORDS: Final = 4
_UNUSED: Final = 5
_ATTEMPTS: Final = 5
_TRIED: Final = {
    "tcp": "to",
    "udp": "over UDP to",
    "name lookup": "asked for a name at",
    "unix socket": "to",
    "raw socket": "for a raw socket,",
    "write": "to write",
}
"""What stands between a program and what it tried in vain."""
_ARGUMENTS: Final = 200


def render(report: Report) -> str:
    """The report in lines of text, ending with a line end."""
    lines = list(_verdict(report))
    if report.divergence is not None:
        lines += ["", *_divergence(report.divergence)]
    if report.later_divergences:
        lines += ["", *_later(report.later_divergences)]
    lines += ["", *_summary(report)]
    lines += [f"  {line}" for line in _unused(report.unused)]
    # A line end in a URL or a folder's name must not make a line of its own, such as "green".
    lines = [_one_line(line) for line in lines]
    commands = list(_commands(report))
    if commands:
        lines += ["", "next:", *(f"  {command}" for command in commands)]
    return "\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n"


def _verdict(report: Report) -> Iterator[str]:
    if report.verdict.green:
        matched = report.counts.exact + report.counts.equivalent
        yield f"green: followed to the end, {_count(matched, 'request')} from the tape"
        return
    reasons = [reason.text for reason in report.verdict.reasons]
    if len(reasons) == 1:
        yield f"not green: {reasons[0]}"
        return
    yield "not green:"
    yield from (f"  - {reason}" for reason in reasons)


def _divergence(divergence: Divergence) -> Iterator[str]:
    yield f"{_name(divergence)} is not on the tape: {divergence.text}"
    yield f"  {divergence.method} {divergence.url}"
    if divergence.nearest is not None and divergence.differences:
        yield f"  compared with {_recording(divergence.nearest)}"
    for difference in divergence.differences[:_DIFFERENCES]:
        yield from _difference(difference)
    more = len(divergence.differences) - _DIFFERENCES
    if more > 0:
        yield f"    and {_count(more, 'more difference')}"


def _name(divergence: Divergence) -> str:
    step = "" if divergence.step is None else f", model call s{divergence.step}"
    message = "" if divergence.message is None else f", message {divergence.message}"
    return f"request {divergence.request} of this replay (r{divergence.request}{step}{message})"


def _difference(difference: Difference) -> Iterator[str]:
    yield f"    {difference.path}: {difference.kind}{_sizes(difference)}"
    if difference.words:
        for change in difference.words[:_WORDS]:
            yield from _words(change)
        more = len(difference.words) - _WORDS
        if more > 0:
            yield f"      and {_count(more, 'more place')} in this text"
        return
    if difference.recorded is not None:
        yield f"      recorded  {_one_line(difference.recorded)}"
    if difference.now is not None:
        yield f"      now       {_one_line(difference.now)}"


def _sizes(difference: Difference) -> str:
    old, new = difference.recorded_size, difference.now_size
    if max(old, new) < 200:
        return ""
    if difference.kind != "changed":
        return f" ({grouped(max(old, new))} characters)"
    if old == new:
        return f" ({grouped(old)} characters)"
    return f" ({grouped(old)} → {grouped(new)} characters)"


def _words(change: WordChange) -> Iterator[str]:
    recorded, now = map(_one_line, change.marked)
    yield f"      recorded  {recorded}"
    yield f"      now       {now}"


def _later(divergences: list[Divergence]) -> Iterator[str]:
    yield f"{_count(len(divergences), 'later request')} not on the tape either:"
    for divergence in divergences[:_UNUSED]:
        yield f"  r{divergence.request}: {divergence.text}"
    if len(divergences) > _UNUSED:
        yield f"  and {len(divergences) - _UNUSED} more"


def _summary(report: Report) -> Iterator[str]:
    counts = report.counts
    parts = [
        (counts.exact, "exact"),
        (counts.equivalent, "equivalent"),
        (counts.side_calls, "side call" if counts.side_calls == 1 else "side calls"),
        (counts.refused, "refused"),
        (counts.followed, "followed"),
        (counts.live, "live"),
    ]
    shown = ", ".join(f"{number} {what}" for number, what in parts if number)
    yield f"{_count(counts.requests, 'request')}{': ' + shown if shown else ''}"
    calls = counts.recorded_model_calls
    if calls:
        yield f"  model calls: {counts.matched_model_calls} of {calls} matched"
    used = [f"{rule.name} ({rule.used})" for rule in report.rules]
    if used:
        yield f"  rules: {', '.join(used)}"
    yield from _renamed(report)
    if report.out_of_order:
        yield f"  {_count(len(report.out_of_order), 'request')} in another order than recorded"
    if report.bound_by_arrival:
        parallel = _count(len(report.bound_by_arrival), "equal request")
        yield f"  {parallel} in parallel, bound by order of arrival"
    yield from _children(report.children)
    missing = report.containment.missing
    lacks = f" (missing: {', '.join(missing)})" if missing else ""
    yield f"  containment: {report.containment.level}{lacks}"
    yield from (f"  {line}" for line in _attempts(report.attempts))
    if report.workspace is not None:
        yield from (f"  {line}" for line in _files(report.workspace))
    yield from (f"  {note}" for note in report.notes)


def _files(used: WorkspaceUsed) -> Iterator[str]:
    if used.files == "in-place":
        yield f"files: those in {used.folder}{f', since {used.why}' if used.why else ''}"
        return
    where = "" if used.at_recorded_path else f", seen at {used.folder}"
    yield f"files: a copy of the recorded start{where}"
    if used.laid_on_top:
        yield f"  otherwise now, and used as they are now: {_names(used.laid_on_top)}"
    if used.as_recorded:
        names = _names(used.as_recorded)
        yield f"  otherwise now, and used as recorded, since the run wrote them: {names}"
    if used.empty:
        yield f"  on no tape and not here, so without content: {_names(used.empty)}"
    if used.why:
        yield f"files at the end: {used.why}"
    elif used.differing:
        names = _names(used.differs, used.differing)
        yield f"files at the end: {used.differing} otherwise than recorded: {names}"
    else:
        yield "files at the end: as recorded"


def _names(names: list[str], total: int = 0) -> str:
    more = max(total, len(names)) - _UNUSED
    return ", ".join(names[:_UNUSED]) + (f" and {more} more" if more > 0 else "")


def _renamed(report: Report) -> Iterator[str]:
    """Identifiers that were made up anew; a reply in which they stand is not byte for byte."""
    if not report.renamed:
        return
    yield f"  {_count(len(report.renamed), 'identifier')} made up anew:"
    for pair in report.renamed[:_UNUSED]:
        yield f"    {pair.recorded} is now {pair.now} ({_count(pair.requests, 'request')})"
    if len(report.renamed) > _UNUSED:
        yield f"    and {len(report.renamed) - _UNUSED} more"
    echoed = len(report.renamed_in_replies)
    if echoed:
        replies = f"{echoed} {'reply' if echoed == 1 else 'replies'}"
        yield f"    {replies} given with the new ones: not the recorded bytes in these places"


def _attempts(attempts: list[Tried]) -> Iterator[str]:
    for attempt in attempts[:_ATTEMPTS]:
        often = f" ({attempt.count} times)" if attempt.count > 1 else ""
        yield f"refused: {attempt.program} {_TRIED[attempt.what]} {attempt.target}{often}"
    if len(attempts) > _ATTEMPTS:
        yield f"refused: {len(attempts) - _ATTEMPTS} more"


def _children(children: list[ChildUse]) -> Iterator[str]:
    given = sum(child.how == "given back" for child in children)
    if given:
        processes = "1 child process" if given == 1 else f"{given} child processes"
        yield f"  {processes} given back from the tape"
    yield from _unsaid([child for child in children if "stdout" in child.unsaid])
    others = [child for child in children if child.how != "given back"]
    for child in others[:_UNUSED]:
        how = "ran for real" if child.how == "run" else "diverged"
        yield f"  p{child.process} {how}: {child.why}: {shlex.join(child.argv)[:_ARGUMENTS]}"
    if len(others) > _UNUSED:
        yield f"  and {len(others) - _UNUSED} more"


def _unsaid(children: list[ChildUse]) -> Iterator[str]:
    """What a child says on an output of the agent's own passes by, and cannot be said again."""
    if children:
        first = f"p{children[0].process} {shlex.join(children[0].argv)}"[:_ARGUMENTS]
        more = f" and {len(children) - 1} more" if len(children) > 1 else ""
        yield f"  not on the tape, and not said again: what {first}{more} put out with the command"


def _unused(unused: list[Unused]) -> Iterator[str]:
    telling = [item for item in unused if not item.side_call]
    for item in telling[:_UNUSED]:
        left = f", {_count(item.turns, 'turn')} of it" if item.turns else ""
        yield f"never came: {_recording(item.recording)}{left}"
    if len(telling) > _UNUSED:
        yield f"never came: {len(telling) - _UNUSED} more"


def _recording(recording: Recording) -> str:
    step = "" if recording.step is None else f", s{recording.step}"
    attempt = "" if recording.attempt == 1 else f", attempt {recording.attempt}"
    lane = f", {recording.lane}" if recording.lane else ""
    where = f"e{recording.event}{step}{attempt}{lane}"
    return f"r{recording.exchange} ({where}) {recording.method} {recording.url}"


def _commands(report: Report) -> Iterator[str]:
    tape = shlex.quote(report.tape.path)
    divergence = report.divergence
    if divergence is None:
        if report.unused and not report.verdict.green:
            yield f"rerail show {tape} r{report.unused[0].recording.exchange}"
        return
    if divergence.nearest is not None:
        yield f"rerail show {tape} r{divergence.nearest.exchange}"
    changed = report.command != report.recorded_command
    command = f" -- {shlex.join(report.command)}" if changed else ""
    field = divergence.field if divergence.kind == "different" else ""
    if field and can_be_ignored(field) and divergence.message is None:
        yield f"rerail replay {tape} --ignore {shlex.quote(field)}{command}"
    if report.on_divergence == "stop" and divergence.nearest is not None:
        yield f"rerail replay {tape} --on-divergence follow{command}"


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
