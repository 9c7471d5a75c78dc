"""A log of JSON lines by its mapping: what fits is a record, what does not is a gap."""

import json
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import NotOnTape
from rerail.trace import log_source
from rerail.trace.log_source import BadMapping, LogSource, mapping_in, read_mapping

MAPPING = b"""
kind: {field: head.event, names: {ok: target.accepted}}
time: {field: at}
ids: {attempt: head.attempt, run: run}
component: target
says: text
"""


def source(tmp_path: Path, *lines: Any, mapping: bytes = MAPPING) -> LogSource:
    path = tmp_path / "log"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return LogSource("B", path, read_mapping(mapping, "mapping"))


def test_a_line_is_a_record(tmp_path: Path) -> None:
    line = {"head": {"event": "ok", "attempt": 7}, "at": "2026-11-30T00:00:00+01:00", "text": "yes"}
    [record] = source(tmp_path, line).records()
    assert (record.ref, record.kind, record.component, record.says) == (
        "line 1", "target.accepted", "target", "yes",
    )  # fmt: skip
    assert record.ids == (("attempt", "7"),)
    assert record.fields["attempt_id"] == "7"
    assert record.wall == 1_795_993_200_000_000_000


@pytest.mark.parametrize(
    ("unit", "value", "wall"),
    [("s", 1.5, 1_500_000_000), ("ms", 2, 2_000_000), ("ns", "3", 3), ("iso", "no time", None)],
)
def test_times(tmp_path: Path, unit: str, value: Any, wall: int | None) -> None:
    mapping = f"kind: {{field: e}}\ntime: {{field: t, unit: {unit}}}\n".encode()
    [record] = source(tmp_path, {"e": "x", "t": value}, mapping=mapping).records()
    assert record.wall == wall


def test_what_does_not_fit_is_a_gap_and_the_rest_is_read(tmp_path: Path) -> None:
    log = source(tmp_path, {"head": 5}, ["no"], {"head": {"event": "ok"}})
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"half')
    assert [record.order for record in log.records()] == [3]
    told = [gap.what for gap in log.gaps]
    assert told[1:] == [f"line {number} does not fit the mapping" for number in (1, 2, 4)]


def test_a_line_is_opened_by_its_number(tmp_path: Path) -> None:
    log = source(tmp_path, {"n": 1}, {"n": 2})
    assert log.evidence("line 2") == '{"n": 2}'
    for ref in ("line 3", "line x", "e1"):
        with pytest.raises(NotOnTape):
            log.evidence(ref)


@pytest.mark.parametrize(
    ("mapping", "what"),
    [
        (b"kind: [", "cannot read the mapping"),
        (b"time: {field: t}", "cannot read the mapping"),
        (b"kind: {field: e}\nbogus: 1", "bogus"),
        (b"kind: {field: e}\nids: {customer: c}", "no such identifier: customer"),
        (b"\xff", "cannot read the mapping"),
    ],
)
def test_a_mapping_that_cannot_be_used_says_why(mapping: bytes, what: str) -> None:
    with pytest.raises(BadMapping, match=what):
        read_mapping(mapping, "m.yaml")


def test_a_mapping_is_bounded(tmp_path: Path) -> None:
    bomb = b"kind: {field: e, names: {a: &a [x]}}\n" + b"".join(
        b"%d: &n%d [%s]\n" % (n, n, b", ".join([b"*a" if n == 0 else b"*n%d" % (n - 1)] * 9))
        for n in range(9)
    )
    with pytest.raises(BadMapping, match="more than can be meant"):
        read_mapping(bomb, "m.yaml")
    endless = Path("/dev/zero")
    if endless.exists():
        with pytest.raises(BadMapping, match="larger than 1 MiB"):
            read_mapping(mapping_in(endless), "m.yaml")


def test_a_line_that_is_too_long_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_source, "_LINE_SIZE", 64)
    made = source(tmp_path, *({"head": {"event": name}} for name in ("a", "b" * 200, "c")))
    assert [record.ref for record in made.records()] == ["line 1", "line 3"]
    assert "line 2 does not fit the mapping" in [gap.what for gap in made.gaps]
