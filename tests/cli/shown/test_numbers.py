"""Numbers as people write them."""

import pytest

from rerail.cli.shown.numbers import Number, check_event, not_there, read_number
from rerail.errors import NotOnTape, UsageProblem


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", Number("e", 12)), ("e12", Number("e", 12)), ("r3", Number("r", 3)),
     ("s4", Number("s", 4))],
)  # fmt: skip
def test_a_bare_number_is_an_event(text: str, number: Number) -> None:
    assert read_number(text) == number
    assert str(number).endswith(text)


@pytest.mark.parametrize(
    "text", ["", "0", "r0", "-1", "x3", "R3", "r", "3r", "1e3", " 1", "r٣", "9" * 19, "r1\n"]
)
def test_anything_else_is_no_number(text: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        read_number(text)
    assert "e12" in str(raised.value.hint)


def test_what_is_not_there_is_answered_with_what_is() -> None:
    error = not_there(Number("r", 9), range(1, 4))
    assert (error.what, error.hint) == (
        "there is no exchange r9 on this tape", "it has exchanges r1 to r3"
    )  # fmt: skip
    assert not_there(Number("s", 9), range(1, 2)).hint == "it has only step s1"
    wide = range(-(2**63), 2**64)
    assert f"to r{2**64 - 1}" in str(not_there(Number("r", 2**65), wide).hint)
    assert "no exchanges" in str(not_there(Number("r", 9), range(0)).hint)


def test_an_event_past_the_last_is_not_there() -> None:
    check_event(Number("e", 3), 3)
    with pytest.raises(NotOnTape):
        check_event(Number("e", 4), 3)


def test_numbers_further_apart_than_anything_can_count_are_named() -> None:
    """A stranger's tape may have any."""
    hint = not_there(Number("r", 9), range(1, 1 << 64)).hint
    assert hint == f"it has exchanges r1 to r{(1 << 64) - 1}"
