"""Two runs beside each other: where they first part, and where else. Facts only; starts nothing.

The runs are given as they were read. A request of the one is looked for among those of the other as
a replay would look for it; a model's answer counts by what it says, any other by its content.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from rerail.compare.alike import Likeness
from rerail.compare.divergence import Difference, Excuse, compare_values, no_excuse
from rerail.compare.match import Matcher
from rerail.compare.misses import Miss, explain
from rerail.compare.recorded import Recorded
from rerail.compare.values import Unreadable, Value, read_json
from rerail.compare.volatile import Rules
from rerail.errors import NotOnTape, RerailError, TapeAltered
from rerail.llm.bodies import read_bodies
from rerail.llm.meaning import completion_of
from rerail.llm.numbered import ModelCalls
from rerail.llm.steps import call_of
from rerail.llm.view import Completion, Reasoning, Text, ToolCall
from rerail.tape.exchange import Exchange
from rerail.tape.reader import Tape
from rerail.tape.records import Event, ProcessEnded, ProcessOutput, ProcessStarted, RunEnded
from rerail.tape.trees import Tree
from rerail.wire.http1 import parse_head, status_line
from rerail.workspace.changes import changes, held, same_thing
from rerail.workspace.kept import Kept

Kind = Literal["asked", "not asked", "answered", "child", "files", "ended"]

COMMAND: Final = 1
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class ReadRun:
    """One of the two, as it was read from its tape: its requests for a matcher, its exchanges."""

    tape: Tape
    recorded: Sequence[Recorded]
    exchanges: Mapping[int, Exchange]
    calls: ModelCalls
    damaged: Callable[[RerailError], object]
    """Is told of what cannot be read."""

    @property
    def events(self) -> list[Event]:
        """All that is on the tape."""
        return list(self.tape.events())

    def step(self, exchange_id: int) -> int:
        """The step of a model call, 0 for another exchange."""
        attempt = self.calls.steps.get(exchange_id)
        return attempt.step if attempt else 0


@dataclass(frozen=True, slots=True)
class Pair:
    """A request that both runs made, by their exchanges; `rules` say how they are the same."""

    good: int
    bad: int
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parting:
    """A place in which the runs are not the same.

    `good` and `bad` are what `rerail show` takes on either tape (`r3`, `p4`, `e90`), "" where a run
    has no such thing. `order` is the number of an event of the bad run: partings are listed by it.
    """

    kind: Kind
    order: int
    text: str
    good: str = ""
    bad: str = ""
    step: int = 0
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs of requests in the order of the bad run, and all partings, the first one first."""

    pairs: tuple[Pair, ...]
    partings: tuple[Parting, ...] = field(default=())

    @property
    def first(self) -> Parting | None:
        """Where the runs part; None where they are the same."""
        return self.partings[0] if self.partings else None


def compare(good: ReadRun, bad: ReadRun, rules: Rules, likeness: Likeness) -> Comparison:
    """Compare two runs. `likeness` knows the facts of both, as for a replay of the good one."""
    matcher = Matcher(good.recorded, rules, likeness)
    pairs: list[Pair] = []
    partings: list[Parting] = []
    for recorded in bad.recorded:
        number, step = recorded.exchange_id, bad.step(recorded.exchange_id)
        found = matcher.match(recorded.whole())
        if isinstance(found, Miss):
            partings.append(_asked_otherwise(found, recorded, step))
            continue
        pairs.append(Pair(found.recorded.exchange_id, number, found.rules))
        partings += _answered(good, bad, pairs[-1], likeness.excuse(found.recorded.started))
    end = max((event.seq for event in bad.tape.events()), default=0)
    partings += [_not_asked(good, item, end) for item in matcher.unused()]
    partings += _children(good, bad, end)
    partings += _files(good, bad, pairs)
    partings += _ends(good, bad, end)
    return Comparison(tuple(pairs), tuple(sorted(partings, key=lambda one: one.order)))


def _asked_otherwise(miss: Miss, recorded: Recorded, step: int) -> Parting:
    nearest = f"r{miss.nearest.exchange_id}" if miss.nearest else ""
    return Parting(
        "asked",
        recorded.started,
        explain(miss),
        nearest,
        f"r{recorded.exchange_id}",
        step,
        miss.differences,
    )


def _not_asked(good: ReadRun, recorded: Recorded, end: int) -> Parting:
    request, number = recorded.request, recorded.exchange_id
    text = f"never asked: {request.method} {request.url.partition('?')[0]}"
    return Parting("not asked", end, text, f"r{number}", "", good.step(number))


# What was answered.


def _answered(good: ReadRun, bad: ReadRun, pair: Pair, excuse: Excuse) -> Iterator[Parting]:
    one, other = good.exchanges[pair.good], bad.exchanges[pair.bad]
    found = compare_values(_answer(good, one), _answer(bad, other), excuse)
    if found:
        end = other.reply_body or other.failed or other.reply or other.request
        who = "the model" if call_of(other) else "the origin"
        yield Parting(
            "answered",
            end.seq if end else 0,
            f"the same was asked, and {who} answered otherwise",
            f"r{pair.good}",
            f"r{pair.bad}",
            bad.step(pair.bad),
            tuple(found),
        )


def _answer(run: ReadRun, exchange: Exchange) -> Value:
    """An answer as a value to compare."""
    if exchange.failed is not None:
        return {"no reply": exchange.failed.ended}
    bodies = read_bodies(run.tape, exchange, damaged=run.damaged)
    if exchange.reply is None or exchange.websocket:
        return {"messages": [_read(content) for content in bodies.messages.values()]}
    status = status_line(parse_head(exchange.reply.head)).status
    call, content = call_of(exchange), bodies.reply or b""
    said = completion_of(call.api, content, bodies.reply_type) if call else None
    answer = _said(said) if said and said.message else {"body": _read(content)}
    ended = exchange.reply_body.ended if exchange.reply_body else "cut"
    return {"status": str(status), **answer, "ended": ended}


def _said(completion: Completion) -> dict[str, Value]:
    """What a model said, without the names that its provider made up for it."""
    parts: list[Value] = []
    for part in completion.message.parts if completion.message else ():
        match part:
            case Text(content=content):
                parts.append({"text": content})
            case Reasoning():
                pass
            case ToolCall(name=name, arguments=arguments):
                parts.append({"tool": name, "arguments": _read(json.dumps(arguments).encode())})
    return {"said": parts, "finish_reason": completion.finish_reason, "error": completion.error}


def _read(content: bytes) -> Value:
    """JSON as its value, anything else as text."""
    try:
        return read_json(content)
    except Unreadable:
        return _text(content)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


# Child processes, in the order in which each command was started.


@dataclass(slots=True)
class _Child:
    started: ProcessStarted
    said: dict[str, bytes]
    status: int | None = None


def _children(good: ReadRun, bad: ReadRun, end: int) -> Iterator[Parting]:
    left = _children_of(good)
    for child in _children_of(bad):
        same = next((one for one in left if _command(one) == _command(child)), None)
        name, words = f"p{child.started.process_id}", " ".join(child.started.argv)[:200]
        if same is None:
            yield Parting("child", child.started.seq, f"started only here: {words}", "", name)
            continue
        left.remove(same)
        found = compare_values(_told(good, same), _told(bad, child), no_excuse)
        if found:
            number = f"p{same.started.process_id}"
            text = f"the same command did otherwise: {words}"
            yield Parting("child", child.started.seq, text, number, name, 0, tuple(found))
    for child in left:
        words = " ".join(child.started.argv)[:200]
        yield Parting("child", end, f"never started: {words}", f"p{child.started.process_id}")


def _children_of(run: ReadRun) -> list[_Child]:
    found: dict[int, _Child] = {}
    for event in run.events:
        match event:
            case ProcessStarted(process_id=number) if number != COMMAND and event.streams:
                found[number] = _Child(event, {})
            case ProcessOutput(process_id=number, stream=stream) if number in found:
                found[number].said[stream] = event.body.digest if event.body else b""
            case ProcessEnded(process_id=number) if number in found:
                found[number].status = None if event.unknown else event.status
    return list(found.values())


def _command(child: _Child) -> tuple[str, ...]:
    return tuple(child.started.argv)


def _told(run: ReadRun, child: _Child) -> Value:
    told: dict[str, Value] = {"status": "" if child.status is None else str(child.status)}
    for stream, digest in child.said.items():
        try:
            told[stream] = _text(run.tape.blob(digest)) if digest else ""
        except (TapeAltered, NotOnTape) as error:
            run.damaged(error)
            told[stream] = f"sha256 {digest.hex()}"
    return told


# Files.


def _files(good: ReadRun, bad: ReadRun, pairs: Sequence[Pair]) -> Iterator[Parting]:
    """The first moment that both runs had, and came to with other files."""
    one, other = Kept(good.tape), Kept(bad.tape)
    then = {number: event for event in one.workspace for number in event.exchanges}
    moments = [(then.get(pair.good), pair.bad) for pair in pairs]
    now = {number: event for event in other.workspace for number in event.exchanges}
    places = [(was, now.get(bad_id), bad.step(bad_id)) for was, bad_id in moments]
    last = [next((e for e in kept.workspace if e.why == "end"), None) for kept in (one, other)]
    for was, here, step in [*places, (last[0], last[1], 0)]:
        if was is None or here is None or was.tree == here.tree:
            continue
        names = _otherwise(one.tree(was), other.tree(here))
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            text = f"other files than in the good run: {', '.join(names[:_NAMED])}{more}"
            yield Parting("files", here.seq, text, f"e{was.seq}", f"e{here.seq}", step)
            return


def _otherwise(before: Tree, after: Tree) -> list[str]:
    found = changes(held(before), held(after), same=same_thing)
    names = {entry.name for entry in (*found.added, *found.removed)}
    return sorted(names | {entry.name for _, entry in found.changed})


# The end.


def _ends(good: ReadRun, bad: ReadRun, end: int) -> Iterator[Parting]:
    one, other = _end(good), _end(bad)
    if _ending(one) != _ending(other):
        text = f"the good run {_ending(one)}, this one {_ending(other)}"
        refs = [f"e{event.seq}" if event else "" for event in (one, other)]
        yield Parting("ended", end, text, refs[0], refs[1])


def _end(run: ReadRun) -> RunEnded | None:
    return next((event for event in run.events if isinstance(event, RunEnded)), None)


def _ending(event: RunEnded | None) -> str:
    if event is None:
        return "has no end on its tape"
    return f"ended by signal {event.signal}" if event.signal else f"ended with {event.status}"
