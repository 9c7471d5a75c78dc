"""Offsets, lines and columns, with all ends of lines and characters outside the first plane."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.tools.places import place_of, units_before, units_in


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("abc", 0, (1, 1)),
        ("abc", 3, (1, 4)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("a\rb", 2, (2, 1)),
        ("a\u2028b", 2, (2, 1)),
        ("𝄞b", 2, (1, 3)),
        ("\ufeffab", 1, (1, 2)),
    ],
)
def test_an_offset_is_a_line_and_a_column(text: str, offset: int, place: tuple[int, int]) -> None:
    assert place_of(text, offset) == place


@given(st.text(alphabet="a𝄞é\n", max_size=20))
def test_the_end_of_a_text_is_behind_its_last_line(text: str) -> None:
    line, column = place_of(text, units_in(text))
    assert line == text.count("\n") + 1
    assert column == units_in(text.rpartition("\n")[2]) + 1


def test_a_column_in_characters_becomes_units() -> None:
    assert units_before("x\n𝄞y", 2, 2) == 2
    assert units_before("x\n𝄞y", 2, 1) == 0
    assert units_before("x", 1, 2) == 1
    assert units_before("", 1, 3) == 2
