"""Events to bytes and back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from rerail.tape.codec import as_given, decode, encode, renumbered
from rerail.tape.records import (
    Body,
    HttpReplyBody,
    HttpRequest,
    Parent,
    RunStarted,
    UnknownEvent,
)

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
BODIES = st.builds(
    Body,
    digest=st.binary(min_size=32, max_size=32),
    size=st.integers(0, 1 << 50),
    framing=st.sampled_from(["none", "length", "chunked", "close"]),
    chunks=st.binary(max_size=20),
    trailers=st.binary(max_size=20),
)
REQUESTS = st.builds(
    HttpRequest,
    at=NUMBERS,
    wall=NUMBERS,
    exchange_id=NUMBERS,
    connection_id=NUMBERS,
    scheme=st.sampled_from(["http", "https"]),
    host=st.text(max_size=20),
    port=st.integers(0, 65535),
    head=st.binary(max_size=60),
    body=st.none() | BODIES,
    unfinished=st.booleans(),
)
STARTS = st.builds(
    RunStarted,
    at=NUMBERS,
    wall=NUMBERS,
    run_id=st.text(max_size=20),
    task_id=st.text(max_size=20),
    writer=st.text(max_size=20),
    argv=st.lists(st.text(max_size=10), max_size=4),
    cwd=st.text(max_size=10),
    environment=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4),
)


@given(REQUESTS | STARTS, st.integers(1, 1 << 60))
def test_an_event_comes_back_with_its_number(event: HttpRequest | RunStarted, seq: int) -> None:
    decoded = decode(encode(event, seq))
    assert decoded == msgspec.structs.replace(event, seq=seq)


@given(STARTS)
def test_the_same_event_always_has_the_same_bytes(event: RunStarted) -> None:
    turned = dict(reversed(event.environment.items()))
    assert encode(msgspec.structs.replace(event, environment=turned), 1) == encode(event, 1)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_event_or_a_value_error(data: bytes) -> None:
    try:
        decode(data)
    except ValueError as error:
        assert str(error) == "not an event"


@given(REQUESTS, st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_byte_gives_an_event_or_a_value_error(
    event: HttpRequest, place: int, byte: int
) -> None:
    data = bytearray(encode(event, 7))
    data[place % len(data)] = byte
    try:
        decode(bytes(data))
    except ValueError as error:
        assert str(error) == "not an event"


def test_a_kind_of_a_later_version_is_kept_as_unknown() -> None:
    data = msgspec.msgpack.encode(
        {"kind": "model.dreamed", "seq": 4, "at": 5, "wall": 6, "component": "model", "dream": [1]}
    )
    assert decode(data) == UnknownEvent(
        seq=4, at=5, wall=6, component="model", name="model.dreamed"
    )


def test_a_component_of_a_later_version_does_not_hide_the_event() -> None:
    data = msgspec.msgpack.encode({"kind": "new", "at": 5, "wall": 6, "component": "oracle"})
    assert decode(data) == UnknownEvent(at=5, wall=6, name="new")


def test_a_field_of_a_later_version_is_skipped() -> None:
    data = msgspec.msgpack.encode(
        {"kind": "http.reply.body", "at": 1, "wall": 2, "exchange_id": 3, "colour": "red"}
    )
    assert decode(data) == HttpReplyBody(at=1, wall=2, exchange_id=3)


def test_deep_nesting_is_not_an_event() -> None:
    with pytest.raises(ValueError, match="not an event"):
        decode(b"\x91" * 100_000)


def test_an_argument_of_arbitrary_bytes_is_spelled_out() -> None:
    start = RunStarted(
        at=0,
        wall=0,
        run_id="r",
        task_id="t",
        writer="w",
        argv=["caf\udce9", "plain"],
        cwd="/",
        environment={"X": "\udcff"},
    )
    decoded = decode(encode(start, 1))
    assert isinstance(decoded, RunStarted)
    assert decoded.argv == ["caf\\udce9", "plain"]
    assert decoded.environment == {"X": "\\udcff"}
    assert decoded.stray
    assert [as_given(decoded, word) for word in decoded.argv] == start.argv
    assert as_given(decoded, decoded.environment["X"]) == "\udcff"


def test_what_only_looks_like_a_stray_byte_is_left_alone() -> None:
    start = RunStarted(at=0, wall=0, run_id="r", task_id="t", writer="w", argv=["\\udce9"], cwd="/")
    decoded = decode(encode(start, 1))
    assert isinstance(decoded, RunStarted)
    assert as_given(decoded, decoded.argv[0]) == "\\udce9"


def test_renumbering_keeps_what_this_version_does_not_know() -> None:
    data = msgspec.msgpack.encode({"kind": "new", "seq": 9, "at": 5, "wall": 6, "dream": [1, 2]})
    fields = msgspec.msgpack.decode(renumbered(data, 3))
    assert fields == {"kind": "new", "seq": 3, "at": 5, "wall": 6, "dream": [1, 2]}


def test_a_field_that_has_its_default_costs_no_byte() -> None:
    """Whatever else its kind may hold: so the same event has the same hash in later versions."""
    few = RunStarted(at=1, wall=2, run_id="r", task_id="t", writer="w", argv=[], cwd="/")
    assert len(fields(RunStarted)) >= 15
    assert encode(few, 1)[0] == 0x80 | 9
    many = replace(
        few, component="agent", environment={"a": ""}, capture={"a": ""}, facts={"a": ""},
        parent=Parent(tape_id="x"), witness=b"w", seed=b"s",
    )  # fmt: skip
    assert decode(encode(many, 1)) == replace(many, seq=1)
