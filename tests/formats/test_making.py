import pytest

from rerail.formats.making import Teller, usage_of, wall_of
from rerail.llm.view import Message

SECOND = 10**9


@pytest.mark.parametrize(
    ("value", "wall"),
    [
        ("2026-01-02T03:04:05Z", 1767323045 * SECOND),
        ("2026-01-02T04:04:05.25+01:00", 1767323045 * SECOND + 250_000_000),
        ("2026-01-02T03:04:05", 1767323045 * SECOND),
        (1767323045, 1767323045 * SECOND),
        (1767323045.5, 1767323045 * SECOND + 500_000_000),
        (1767323045000, 1767323045 * SECOND),
        (1767323045000000, 1767323045 * SECOND),
        ("1767323045000000000", 1767323045 * SECOND),
        ("yesterday", None),
        (True, None),
        (-5, None),
        (None, None),
    ],
)
def test_a_time_is_read_whatever_its_form(value: object, wall: int | None) -> None:
    assert wall_of(value) == wall


def test_numbers_of_messages_never_fall() -> None:
    teller = Teller("x")
    for line in (5, 3, 0):
        teller.say(Message("user", ()), line=line)
    assert [said.order for said in teller.said] == [5, 5, 5]


def test_tokens_may_be_texts() -> None:
    usage = usage_of("12", None)
    assert usage is not None
    assert usage.input_tokens == 12
    assert usage_of(None, "x") is None
