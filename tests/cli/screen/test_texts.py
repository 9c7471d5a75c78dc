"""How the command line writes."""

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.cli.screen import texts

EVERYTHING = st.text(st.characters(), max_size=60)
STRAY_BYTES = st.integers(0xDC80, 0xDCFF).map(chr)
ON_TAPE = st.text(st.characters(exclude_categories=["Cs"]) | STRAY_BYTES, max_size=60)
CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x202E, 0x2066, 0x2028, 0xFEFF, 0xE0041]


@given(EVERYTHING)
def test_nothing_in_a_line_can_steer_a_terminal(text: str) -> None:
    shown = texts.one_line(text)
    assert not any(ord(character) in CONTROLS for character in shown)
    assert not any(0xD800 <= ord(character) <= 0xDFFF for character in shown)


@given(EVERYTHING)
def test_a_block_keeps_line_ends_and_tabs_and_no_other_control(text: str) -> None:
    shown = texts.block(text)
    assert not any(ord(char) in CONTROLS for char in shown if char not in "\n\t")
    assert texts.is_safe(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ⟦redacted:cookie:0123456789ab⟧", "plain ⟦redacted:cookie:0123456789ab⟧"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("evil\u202etxt.exe", r"evil\u202etxt.exe"),
        ("\udcff", r"\xff"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("naïve 数 😀", "naïve 数 😀"),
    ],
)
def test_what_is_not_plain_is_spelled_out(text: str, shown: str) -> None:
    assert texts.one_line(text) == shown


def test_crlf_is_one_line_end_and_a_lone_cr_is_shown() -> None:
    assert texts.block("a\r\nb\rc") == "a\nb\\rc"


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1234, "1.2 kB"), (99_949, "99.9 kB"),
     (99_950, "100 kB"), (123_456, "123 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"),
     (3_456_789, "3.5 MB"), (1 << 30, "1.1 GB"), (10**12, "1.0 TB"), (10**16, "10000.0 TB")],
)  # fmt: skip
def test_sizes_have_two_or_three_digits(size: int, shown: str) -> None:
    assert texts.size_text(size) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [(0, "0 µs"), (340_000, "340 µs"), (999_499, "999 µs"), (999_500, "1 ms"),
     (12_345_678, "12.3 ms"), (512_000_000, "512 ms"), (999_400_000, "999 ms"),
     (999_500_000, "1 s"), (1_240_000_000, "1.24 s"), (12_345_000_000, "12.3 s"),
     (59_949_000_000, "59.9 s"), (59_950_000_000, "1 min 0 s"), (123_000_000_000, "2 min 3 s"),
     (3_599_600_000_000, "1 h 0 min"), (7_325_000_000_000, "2 h 2 min"),
     (-1_500_000, "-1.5 ms")],
)  # fmt: skip
def test_times_have_about_three_digits(nanoseconds: int, shown: str) -> None:
    assert texts.duration(nanoseconds) == shown


@given(st.integers(-(1 << 63), 1 << 64))
def test_any_number_a_tape_can_hold_has_a_size_a_time_and_a_date(number: int) -> None:
    assert texts.duration(number) and texts.utc(number) and texts.size_text(number)
    assert abs(float(texts.seconds(number)) * 1e9 - number) <= 1000 + abs(number) * 1e-15


def test_a_date_is_told_to_the_millisecond_in_utc() -> None:
    assert texts.utc(1_790_000_000_123_999_999) == "2026-09-21 14:13:20.123Z"


def test_plurals_are_grouped_and_may_be_irregular() -> None:
    assert texts.quantity(1, "byte") == "1 byte"
    assert texts.quantity(1234, "byte") == "1 234 bytes"
    assert texts.quantity(1234567, "try", "tries") == "1 234 567 tries"


@given(st.recursive(ON_TAPE | st.integers() | st.none(), st.lists))
def test_json_is_the_value_and_safe_for_a_terminal(value: object) -> None:
    for text in (texts.json_text(value), texts.json_line(value)):
        assert json.loads(text) == value
        assert texts.is_safe(text)


def test_a_chunk_table_takes_a_line_a_chunk() -> None:
    assert texts.json_text([[1, -2], [3, 4]]) == "[\n  [1, -2],\n  [3, 4]\n]"


@pytest.mark.parametrize("items", [[], [1], [{"a": [1, 2]}, "x"]])
def test_an_array_is_written_as_it_comes(items: list[object]) -> None:
    assert json.loads("".join(texts.json_array(iter(items)))) == items


def test_a_table_in_a_pipe_has_tabs_and_no_headers(capsys: pytest.CaptureFixture[str]) -> None:
    texts.table([["r1", "a\tb"], ["r2", "\x1b[1m"]], headers=["n", "x"])
    assert capsys.readouterr().out == "r1\ta\\tb\nr2\t\\x1b[1m\n"


class Latin(io.TextIOWrapper):
    """A standard output that can spell few characters."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="latin-1", write_through=True)


def test_an_output_of_few_characters_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Latin()
    monkeypatch.setattr(sys, "stdout", stream)
    texts.say("é ⟦x⟧")
    stream.seek(0)
    assert stream.read() == "é \\u27e6x\\u27e7\n"
