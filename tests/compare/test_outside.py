"""What came to a run from outside."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.outside import Outside, texts_of

UUID_1 = "0198f0c2-aaaa-7000-8000-000000000001"


def test_what_came_before_an_event_is_known_by_then() -> None:
    outside = Outside(["--task", "task-1841abcd"])
    outside.add(5, f"your id is {UUID_1}")
    assert outside.holds("1841abcd", 1)
    assert not outside.holds(UUID_1, 5)
    assert outside.holds(UUID_1, 6)
    assert outside.holds(UUID_1.upper(), 6)
    assert outside.holds(UUID_1[:8], 6)
    assert not outside.holds("ffffffff", 6)


def test_dashes_do_not_hide_an_identifier() -> None:
    outside = Outside([UUID_1.replace("-", "")])
    assert outside.holds(UUID_1, 1)


def test_what_the_client_said_first_is_an_echo() -> None:
    outside = Outside()
    outside.said(3, f"session {UUID_1}")
    outside.add(3, f"your session {UUID_1} and 77aa88bb")
    assert not outside.holds(UUID_1, 9)
    assert outside.echoes(UUID_1)
    assert outside.holds("77aa88bb", 9)
    assert not outside.echoes("77aa88bb")
    assert outside.is_said(UUID_1.upper())
    assert not outside.is_said("77aa88bb")


def test_what_came_before_the_client_said_it_came_from_outside() -> None:
    outside = Outside()
    outside.said(4, UUID_1)
    outside.add(3, UUID_1)
    outside.add(5, UUID_1)
    assert outside.holds(UUID_1, 4)
    assert not outside.echoes(UUID_1)


@given(st.lists(st.text("0123456789abcdef", min_size=8, max_size=12), max_size=40))
def test_it_knows_what_it_was_told_and_when(texts: list[str]) -> None:
    outside = Outside()
    for number, text in enumerate(texts, start=1):
        outside.add(number, text * 2000)
        outside.add(number, text)
    for number, text in enumerate(texts, start=1):
        first = next(at for at, other in enumerate(texts, start=1) if text in other * 2000)
        assert outside.holds(text, number + 1)
        assert not outside.holds(text, first)


def stream(*pieces: str) -> bytes:
    events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def test_an_identifier_that_a_stream_gives_in_pieces_is_put_together() -> None:
    body = stream("it is ", UUID_1[:9], UUID_1[9:20], UUID_1[20:], ".") + b"data: [DONE]\n\n"
    assert any(UUID_1 in text for text in texts_of([body]))


def test_messages_are_put_together_too() -> None:
    said = [
        json.dumps({"type": "delta", "delta": part}).encode() for part in (UUID_1[:5], UUID_1[5:])
    ]
    assert any(UUID_1 in text for text in texts_of(said))


def test_what_is_no_json_is_a_text() -> None:
    assert list(texts_of([b"data: {nothing\n\n", b"\xff", b"[" * 5000])) == [
        "data: {nothing\n\n", "�", "[" * 5000,
    ]  # fmt: skip
