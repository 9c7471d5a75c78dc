"""Two runs of durable scripts beside each other, pause by pause. Facts only; loads no state."""

from collections.abc import Iterator
from dataclasses import dataclass

from rerail.compare.divergence import compare_values, no_excuse
from rerail.compare.values import Unreadable, Value, read_json
from rerail.errors import RerailError
from rerail.tape.records import Body
from rerail.tape.script_records import ScriptAnswered, ScriptPaused
from rerail.trace.difference import Parting, ReadRun


@dataclass(slots=True)
class _Pause:
    paused: ScriptPaused
    answered: ScriptAnswered | None = None


def script_partings(good: ReadRun, bad: ReadRun) -> Iterator[Parting]:
    """Pauses that ask otherwise, are answered otherwise, or are come to in one run only.

    A fork begins at a pause: what was before it is its parent's.
    """
    one, other = _pauses(good), _pauses(bad)
    if not one or not other:
        return
    end = max(event.seq for event in bad.tape.events())
    first = max(min(one), min(other))
    for number in sorted(number for number in {*one, *other} if number >= first):
        was, now = one.get(number), other.get(number)
        if was is not None and now is not None:
            yield from _between(good, bad, was, now)
        elif was is not None:
            text = f"pause {number} is not come to: `{was.paused.tool}`"
            yield Parting("not asked", end, text, f"e{was.paused.seq}")
        elif now is not None:
            text = f"pause {number} is come to only here: `{now.paused.tool}`"
            yield Parting("asked", now.paused.seq, text, "", f"e{now.paused.seq}")


def _between(good: ReadRun, bad: ReadRun, was: _Pause, now: _Pause) -> Iterator[Parting]:
    number, tool = now.paused.pause, now.paused.tool
    found = compare_values(_asked(good, was), _asked(bad, now), no_excuse)
    if found:
        refs = f"e{was.paused.seq}", f"e{now.paused.seq}"
        text = f"pause {number}, `{tool}`, asks otherwise"
        yield Parting("asked", now.paused.seq, text, *refs, 0, tuple(found))
    found = compare_values(_answer(good, was), _answer(bad, now), no_excuse)
    if found:
        seqs = [(one.answered or one.paused).seq for one in (was, now)]
        text = f"pause {number}, `{tool}`, was answered otherwise"
        yield Parting("answered", seqs[1], text, f"e{seqs[0]}", f"e{seqs[1]}", 0, tuple(found))


def _pauses(run: ReadRun) -> dict[int, _Pause]:
    found: dict[int, _Pause] = {}
    for event in run.tape.events():
        match event:
            case ScriptPaused():
                found[event.pause] = _Pause(event)
            case ScriptAnswered() if event.pause in found:
                found[event.pause].answered = event
    return found


def _asked(run: ReadRun, pause: _Pause) -> Value:
    return {"tool": pause.paused.tool, "arguments": _value(run, pause.paused.arguments)}


def _answer(run: ReadRun, pause: _Pause) -> Value:
    if pause.answered is None:
        return {"answered": "no"}
    name = f"raised {pause.answered.raised}" if pause.answered.raised else "answer"
    return {name: _value(run, pause.answered.answer)}


def _value(run: ReadRun, body: Body) -> Value:
    try:
        return read_json(run.tape.blob(body.digest))
    except RerailError as error:
        run.damaged(error)
    except Unreadable:
        pass
    return f"sha256 {body.digest.hex()}"
