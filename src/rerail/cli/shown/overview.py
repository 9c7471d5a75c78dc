"""A tape on one page: the run, what went wrong, and one line for each exchange. Opens no file."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rerail.cli.facts.events import (
    ending_text,
    event_values,
    failure_text,
    tunnel_text,
    words,
)
from rerail.cli.facts.planes import plane_lines
from rerail.cli.screen.texts import (
    duration,
    for_person,
    grouped,
    is_narrow,
    one_line,
    quantity,
    say,
    seconds,
    size_text,
    styled,
    table,
    utc,
)
from rerail.cli.shown.children import child_values, print_children
from rerail.cli.shown.outline import Outline
from rerail.cli.shown.pauses import pause_values, print_pauses, script_lines, script_of
from rerail.cli.shown.rows import Row, row_values, rows, step_text
from rerail.tape.reader import UnfinishedBody
from rerail.tape.records import Event, Parent, RunStarted, kind_of
from rerail.tape.script_records import ScriptParked

_HEADERS = ("", "step", "start", "method", "url", "outcome", "sent", "got", "chunks", "took")
_NO_ID = {True: "(not yet)", False: "(cannot be known: some events cannot be read)"}
_EDITS = {"hint": "a hint", "answer": "a tool's other answer", "patch": "a patch of the request"}
_NUMBERS = (2, 6, 7, 8, 9)
_YIELDING = (4, 5)
_SPARE = (6, 8)


def state_text(outline: Outline) -> str:
    """The tape's state in words that cannot be misread."""
    if outline.state == "lost" and outline.script and isinstance(outline.script[-1], ScriptParked):
        return "parked: its script waits, and goes on when somebody resumes it"
    match outline.state:
        case "finished":
            return "finished"
        case "live":
            return "live: it is being recorded now"
        case "lost":
            return (
                "lost: its recorder died (run.lost); everything committed by then is here, "
                "truncation is not excluded"
            )
    return "unknown: the events that would tell cannot be read"


def half_text(half: UnfinishedBody) -> str:
    """What is there of a body whose end was not recorded."""
    what = "reply" if half.side == "origin" else "request"
    place = f"the half {what} of r{half.exchange_id} is there up to its last committed chunk"
    return f"{place} ({quantity(half.size, 'byte')})"


def print_overview(
    path: str, outline: Outline, relatives: Iterable[tuple[str, str]] = (), *, steps_only: bool
) -> None:
    """The page for a person, or with tabs for a pipe; `relatives` are lines of what came of it."""
    for name, text in (*_summary(path, outline), *relatives):
        label = f"{name:<11}" if for_person() else f"{name}\t"
        say(f"{styled(label, bold=True)}{one_line(text)}")
    found = list(rows(outline, steps_only=steps_only))
    if found:
        say()
        table(
            [_cells(row) for row in found],
            headers=_HEADERS,
            right=_NUMBERS,
            yielding=_YIELDING,
            spare=_SPARE,
            failed=[row.failed for row in found],
        )
    script = script_of(outline)
    if script is not None:
        print_pauses(script, outline.run.at)
    if not steps_only:
        print_children(outline.outer_children(), outline.run.at)


def _summary(path: str, outline: Outline) -> Iterator[tuple[str, str]]:
    run = outline.run
    yield "tape", path
    yield "id", outline.tape_id or _NO_ID[outline.state == "live"]
    yield "state", state_text(outline)
    yield "run", run.run_id
    yield "task", run.task_id
    if run.parent:
        step = f", step {run.parent.step}" if run.parent.step else ""
        yield "parent", f"{run.parent.relation} of {run.parent.tape_id}{step}"
        for edit in run.parent.edits:
            yield "put in", f"from s{edit.step} on, {_EDITS[edit.kind]}: {edit.text}"
        if run.parent.turns:
            yield "budget", f"{quantity(run.parent.turns, 'model call')} from there on"
    script = script_of(outline)
    if script is not None:
        yield from script_lines(script)
    else:
        yield "command", shlex.join(run.argv)
    yield from plane_lines(outline.planes)
    yield "folder", run.cwd
    yield "started", utc(run.wall)
    yield "duration", _span(outline.last_at - run.at)
    yield from _ending(outline)
    for name, how in run.capture.items():
        yield "capture", f"{name}: {how}"
    if outline.drawn:
        yield "secrets", _drawn_text(outline.drawn)
    yield from _troubles(outline)
    yield "holds", _counts(outline)


def _ending(outline: Outline) -> Iterator[tuple[str, str]]:
    if outline.ended is not None:
        yield "exit", words(outline.ended)
        return
    _, command = outline.processes.get(1, (None, None))
    if command is not None:
        yield "exit", ending_text(command.status, command.signal)
    if outline.lost is not None:
        yield "lost", outline.lost.reason


def _drawn_text(drawn: int) -> str:
    """What the system's generator gave stands on the tape as it was: that must be known."""
    kept = f"{quantity(drawn, 'random value')} for keys and tokens"
    verb = "is" if drawn == 1 else "are"
    return f"{kept} {verb} kept readable: who has the tape can make what was made of them again"


def _troubles(outline: Outline) -> Iterator[tuple[str, str]]:
    """What a reader must know before reading on: gaps, failures, half bodies."""
    for missing, times in Counter(map(words, outline.missing)).items():
        yield "missing", _times(missing, times)
    for failure, times in Counter(map(failure_text, outline.failures)).items():
        yield "failed", _times(failure, times)
    for opened, closed in outline.tunnels:
        end = tunnel_text(closed) if closed else "unfinished"
        yield "opaque", f"{opened.host}:{opened.port}, {opened.why}; {end}"
    for half in outline.unfinished:
        yield "unfinished", half_text(half)


def _times(text: str, times: int) -> str:
    return text if times == 1 else f"{text} ({times} times)"


def _counts(outline: Outline) -> str:
    steps = outline.calls.count - len(outline.calls.aside)
    children = len(outline.children)
    return ", ".join(
        (
            quantity(outline.events, "event"),
            quantity(len(outline.exchanges), "exchange"),
            quantity(steps, "step"),
            *([quantity(children, "child", "children")] if children else ()),
        )
    )


def _span(nanoseconds: int) -> str:
    return duration(nanoseconds) if for_person() else seconds(nanoseconds)


def _size(size: int) -> str:
    return size_text(size) if for_person() else str(size)


def _cells(row: Row) -> tuple[str, ...]:
    step = step_text(row) + (f" try {row.attempt}" if row.attempt > 1 else "")
    return (
        f"r{row.exchange}",
        step,
        f"+{_span(row.start_ns)}",
        row.method,
        row.url.removeprefix("https://") if is_narrow() else row.url,
        row.outcome,
        _size(row.request_size),
        _size(row.reply_size),
        grouped(row.chunks) if for_person() else str(row.chunks),
        "" if row.took_ns is None else _span(row.took_ns),
    )


def print_event(run: RunStarted, event: Event) -> None:
    """One event in one line."""
    cells = (f"e{event.seq}", f"+{_span(event.at - run.at)}", kind_of(event), words(event))
    number, when, kind, text = (one_line(cell) for cell in cells)
    if for_person():
        say(f"{number:>6} {when:>10}  {kind:<18} {text}")
    else:
        say("\t".join((number, when, kind, text)))


def _parent_values(parent: Parent) -> dict[str, Any]:
    told = msgspec.structs.asdict(parent)
    return told | {"edits": [msgspec.structs.asdict(edit) for edit in parent.edits]}


def overview_values(path: str, outline: Outline, *, steps_only: bool) -> dict[str, Any]:
    """The page as JSON values."""
    run, ended = outline.run, outline.ended
    script = script_of(outline)
    pauses = script.pauses.values() if script else ()
    return {
        "tape": path,
        "id": outline.tape_id or None,
        "state": outline.state or "unknown",
        "run_id": run.run_id,
        "task_id": run.task_id,
        "parent": _parent_values(run.parent) if run.parent else None,
        "writer": run.writer,
        "command": run.argv,
        "cwd": run.cwd,
        "environment": run.environment,
        "capture": run.capture,
        "facts": run.facts,
        "started": utc(run.wall),
        "started_wall_ns": run.wall,
        "duration_ns": outline.last_at - run.at,
        "status": ended.status if ended else None,
        "signal": ended.signal if ended else None,
        "reason": ended.reason if ended else outline.lost.reason if outline.lost else None,
        "events": outline.events,
        "damage": [error.what for error in outline.damage],
        "missing": [event_values(event) for event in outline.missing],
        "random_values_kept": outline.drawn,
        "connection_failures": [event_values(event) for event in outline.failures],
        "tunnels": [
            {"opened": event_values(opened), "closed": event_values(closed) if closed else None}
            for opened, closed in outline.tunnels
        ],
        "unfinished": [
            {"exchange": half.exchange_id, "side": half.side, "size": half.size}
            for half in outline.unfinished
        ],
        "pauses": [pause_values(pause, run.at) for pause in pauses],
        "children": [child_values(child) for child in outline.children.values()],
        "exchanges": [row_values(row) for row in rows(outline, steps_only=steps_only)],
    }
