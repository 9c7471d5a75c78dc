"""Where a value came from, told from tapes whose story is known."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.tape.reader import Tape
from rerail.testing.tapes import CHAT, Recording
from rerail.trace.sources import sources, walk
from rerail.trace.why import Provenance, why

JSON = "Content-Type: application/json\r\n"
STREAM = "Content-Type: text/event-stream\r\n"


def ask(tape: Recording, exchange: int, *texts: str) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    tape.request(exchange, body, method="POST", target=CHAT, host="api.openai.com")


def chunk(**delta: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[Recording]:
    """A run that looks a ticket up, asks a model about it, and files what the model made up."""
    made = Recording.begin(
        tmp_path / "run.tape", argv=["agent.py", "--task", "1841"], environment={"MODE": "careful"}
    )
    made.request(1, target="/tickets?query=1841")
    made.reply(1, [json.dumps({"id": 1841, "customer": "CUST-4471"}).encode()], headers=JSON)
    ask(made, 2, "Who is the customer of 1841?", "The ticket names CUST-4471.")
    call = {"index": 0, "id": "c", "function": {"name": "file", "arguments": '{"to": "CUST'}}
    rest = {"index": 0, "function": {"arguments": '-9999"}'}}
    made.reply(2, [chunk(content="So be"), chunk(content=" it."), chunk(tool_calls=[call]),
                   chunk(tool_calls=[rest])], headers=STREAM)  # fmt: skip
    made.request(3, b'{"customer": "CUST-9999", "key": "made-here"}', method="POST", target="/file")
    made.reply(3, [b"thanks"])
    made.end()
    yield made
    made.writer.close()


def found(tape: Recording, value: str) -> Provenance:
    damage: list[Exception] = []
    with Tape.open(tape.path) as opened:
        provenance = why(value, sources(opened, damaged=damage.append))
    assert damage == []
    return provenance


@pytest.mark.parametrize(
    ("value", "origin", "exchange", "where"),
    [
        ("careful", "given", 0, "variable MODE"),
        ("1841", "given", 0, "command"),
        ("CUST-4471", "told", 1, "$.customer"),
        ("CUST-9999", "by the model", 2, "file().to"),
        ("So be it.", "by the model", 2, "text"),
        ("thanks", "told", 3, "body"),
        ("made-here", "by the agent", 3, "$.key"),
    ],
)
def test_the_first_record_says_where_a_value_came_from(
    tape: Recording, value: str, origin: str, exchange: int, where: str
) -> None:
    provenance = found(tape, value)
    assert provenance.origin == origin
    assert provenance.first is not None
    assert (provenance.first.exchange, provenance.first.where) == (exchange, where)


def test_every_record_that_holds_it_is_a_place_and_the_first_is_whole(tape: Recording) -> None:
    places = found(tape, "CUST-4471").places
    assert [(place.exchange, place.whole) for place in places] == [(1, True), (2, False)]


@pytest.mark.parametrize("value", ["184", "CUST", "8411", "cust-4471"])
def test_a_part_of_a_word_is_not_the_value(tape: Recording, value: str) -> None:
    expected = "told" if value == "CUST" else "nowhere"
    assert found(tape, value).origin == expected


def test_a_value_that_stands_nowhere(tape: Recording) -> None:
    provenance = found(tape, "CUST-0000")
    assert (provenance.origin, provenance.first) == ("nowhere", None)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)


@given(VALUES)
def test_every_text_of_a_document_is_walked(value: Any) -> None:
    walked = [text for _, text in walk(value, "$")]

    def texts(inner: Any) -> Iterator[str]:
        if isinstance(inner, dict):
            for key, entry in inner.items():
                yield key
                yield from texts(entry)
        elif isinstance(inner, list):
            for entry in inner:
                yield from texts(entry)
        elif isinstance(inner, str):
            yield inner

    assert set(texts(value)) <= set(walked)


def test_json_in_a_text_is_walked_too_and_depth_has_an_end() -> None:
    assert ("$.a as JSON.b", "c") in list(walk({"a": '{"b": "c"}'}, "$"))
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    assert list(walk(deep, "$")) == []
