"""Several sources in one order: by causes, whatever the clocks say; and what cannot be known."""

import json
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.testing.plane_tapes import MINUTE, PlaneTape
from rerail.testing.tapes import WALL, Recording
from rerail.trace.causes import Cause, Place, causes
from rerail.trace.clocks import Clocks
from rerail.trace.log_source import LogSource, read_mapping
from rerail.trace.record import CaseSource, Record
from rerail.trace.tape_source import TapeSource
from rerail.trace.timeline import timeline

MAPPING = b"""
kind: {field: event, names: {recv: request.received, done: request.answered,
  got: target.received, ok: target.accepted}}
time: {field: t, unit: ns}
ids: {request: rid, attempt: attempt}
says: event
"""
_MS = 1_000_000


def log(path: Path, name: str, lines: Sequence[dict[str, Any]]) -> LogSource:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return LogSource(name, path, read_mapping(MAPPING, "mapping"))


def asked(path: Path, numbers: Sequence[int]) -> None:
    """A tape that asks and is answered 2 ms later, each request with an identifier."""
    tape = Recording.begin(path)
    for number in numbers:
        tape.request(number, headers=f"X-Request-Id: q{number}\r\n")
        tape.reply(number, [b"ok"])
    tape.end()


@pytest.mark.parametrize("ahead", [-5 * MINUTE, 0, 5 * MINUTE])
def test_causes_order_two_sources_whatever_their_clocks_say(
    tmp_path: Path, source: Callable[..., TapeSource], ahead: int
) -> None:
    asked(tmp_path / "a.tape", [1, 2, 3])
    tape = source(tmp_path / "a.tape")
    walls = {}
    for record in tape.records():
        if record.kind == "http.request":
            walls[dict(record.ids)["request"]] = record.wall
    lines = []
    for rid, wall in walls.items():
        lines.append({"event": "recv", "rid": rid, "t": wall + ahead + 300_000})
        lines.append({"event": "done", "rid": rid, "t": wall + ahead + 600_000})
    service = log(tmp_path / "b.log", "B", lines)
    merged = [line.record for line in timeline([tape, service])]
    order = [f"{one.kind} {dict(one.ids).get('request', '')}".strip() for one in merged]
    for rid in ("q1", "q2", "q3"):
        expected = ["http.request", "request.received", "request.answered", "http.reply.head"]
        places = [order.index(f"{kind} {rid}") for kind in expected]
        assert places == sorted(places), order
    assert order.index("request.answered q1") < order.index("http.request q2")


def test_what_a_cause_put_there_is_told_from_what_a_clock_did(
    tmp_path: Path, source: Callable[..., TapeSource]
) -> None:
    asked(tmp_path / "a.tape", [1])
    tape = source(tmp_path / "a.tape")
    service = log(tmp_path / "b.log", "B", [{"event": "recv", "rid": "q1", "t": WALL}])
    by = {line.record.kind: line.by for line in timeline([tape, service])}
    assert by["request.received"] == "cause"
    assert by["run.started"] == "sequence"


@pytest.mark.parametrize("minutes", [-5, 5])
@pytest.mark.parametrize("after", [None, "limit 5"])
def test_a_target_that_may_have_accepted_before_or_after_the_time_out(
    plane_tape: Callable[..., PlaneTape],
    source: Callable[..., TapeSource],
    tmp_path: Path,
    minutes: int,
    after: str | None,
) -> None:
    """Whatever the target's clock says, and whatever is on record behind the time-out."""
    made = plane_tape()
    made.agents_plane()
    made.check(failed=False)
    made.approve()
    made.act("unknown", timed_out=True, after=after)
    tape = source(made.end("unresolved"))
    target = log(tmp_path / "t.log", "B", [
        {"event": "got", "attempt": "T-1", "t": WALL + minutes * MINUTE},
        {"event": "ok", "attempt": "T-1", "t": WALL + minutes * MINUTE + 1},
    ])  # fmt: skip
    lines = list(timeline([tape, target]))
    kinds = [line.record.kind for line in lines]
    assert kinds.index("action.attempted") < kinds.index("target.received")
    open_orders = [one for line in lines for one in line.competing]
    pairs = [{one.one.kind, one.other.kind} for one in open_orders]
    assert {"action.result", "target.accepted"} in pairs
    told = next(one for one in open_orders if "target.accepted" in {one.one.kind, one.other.kind})
    assert told.tells_apart


def test_an_answer_that_was_told_settles_it(
    plane_tape: Callable[..., PlaneTape], source: Callable[..., TapeSource], tmp_path: Path
) -> None:
    made = plane_tape()
    made.agents_plane()
    made.check(failed=False)
    made.approve()
    made.act("accepted")
    tape = source(made.end("applied"))
    target = log(tmp_path / "t.log", "B", [
        {"event": "got", "attempt": "T-1", "t": WALL + 5 * MINUTE},
        {"event": "ok", "attempt": "T-1", "t": WALL + 5 * MINUTE + 1},
    ])  # fmt: skip
    lines = list(timeline([tape, target]))
    kinds = [line.record.kind for line in lines]
    assert kinds.index("target.accepted") < kinds.index("action.result")
    assert not [
        one
        for line in lines
        for one in line.competing
        if {one.one.kind, one.other.kind} == {"action.result", "target.accepted"}
    ]


class Given:
    """A source of records that are given."""

    recorded, whole, gaps = False, False, ()

    def __init__(self, name: str, records: Sequence[Record]) -> None:
        self.name = self.title = name
        self._records = records

    def records(self, *, worded: bool = True) -> Any:
        return iter(self._records)


def record(source: str, order: int, kind: str, wall: int | None, **ids: str) -> Record:
    return Record(source, f"{order}", order, kind, "agent", kind, wall, tuple(ids.items()))


def test_a_cause_behind_its_effect_is_a_contradiction_and_nothing_hangs() -> None:
    a = Given("A", [record("A", 1, "http.reply.head", 5, request="x"),
                    record("A", 2, "http.request", 6, request="y")])  # fmt: skip
    b = Given("B", [record("B", 1, "request.received", 1, request="y"),
                    record("B", 2, "request.answered", 2, request="x")])  # fmt: skip
    lines = list(timeline([a, b]))
    assert len(lines) == 4
    assert [line.by for line in lines].count("contradiction") == 1


def test_records_without_a_time_keep_their_place() -> None:
    a = Given("A", [record("A", number, "said", None) for number in (1, 2)])
    b = Given("B", [record("B", number, "said", 5) for number in (1, 2)])
    merged = [line.record for line in timeline([a, b])]
    for name in "AB":
        assert [one.order for one in merged if one.source == name] == [1, 2]


@given(
    rounds=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    ahead=st.integers(-300, 300),
)
def test_the_merged_order_never_contradicts_the_truth(rounds: list[int], ahead: int) -> None:
    """Requests and answers at known true times: what happened before is never told behind."""
    truth: dict[tuple[str, int], int] = {}
    a: list[Record] = []
    b: list[Record] = []
    now = 1000
    for number, wait in enumerate(rounds):
        for records, name, kind in (
            (a, "A", "http.request"), (b, "B", "request.received"),
            (b, "B", "request.answered"), (a, "A", "http.reply.head"),
        ):  # fmt: skip
            now += wait
            records.append(
                record(name, len(records) + 1, kind, now + (ahead * 1000 if name == "B" else 0),
                       request=f"q{number}")
            )  # fmt: skip
            truth[name, len(records)] = now
    merged = [line.record for line in timeline([Given("A", a), Given("B", b)])]
    times = [truth[one.source, one.order] for one in merged]
    assert times == sorted(times)


def cause(before: int, after: int, walls: tuple[int, int]) -> Cause:
    return Cause(Place(before, 1), Place(after, 1), walls)


def test_a_request_and_its_answer_bound_a_clock_from_both_sides() -> None:
    clocks = Clocks.read(2, [cause(0, 1, (100, 1_105)), cause(1, 0, (1_106, 111))])
    assert clocks.each[1].ahead == pytest.approx(1000, abs=5)
    assert clocks.error(0, 1) == pytest.approx(5)


def test_one_side_bounds_nothing() -> None:
    assert Clocks.read(2, [cause(0, 1, (100, 90))]).error(0, 1) == inf


def test_a_third_source_is_reached_through_the_second() -> None:
    clocks = Clocks.read(3, [
        cause(0, 1, (0, 11)), cause(1, 0, (11, 2)), cause(1, 2, (20, 31)), cause(2, 1, (31, 22)),
    ])  # fmt: skip
    assert clocks.each[2].ahead == pytest.approx(20, abs=2)


def test_clocks_that_jumped_are_not_believed() -> None:
    clocks = Clocks.read(2, [cause(0, 1, (100, 0)), cause(1, 0, (100, 0))])
    assert not clocks.steady
    assert clocks.error(0, 1) == inf


def test_one_source_needs_no_causes(tmp_path: Path, source: Callable[..., TapeSource]) -> None:
    asked(tmp_path / "a.tape", [1])
    only: list[CaseSource] = [source(tmp_path / "a.tape")]
    assert causes(only) == []
    assert [line.by for line in timeline(only)] == ["sequence"] * 6
