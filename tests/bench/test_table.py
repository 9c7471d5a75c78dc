"""The table as text, and the document for programs."""

import json

import pytest

from bench.figures import Goal, row
from bench.table import document, markdown, number, plain

ROWS = [
    row("start-up", "ms", rerail=[100, 120], peer=[400, 600], goal=Goal("ratio", "at most", 0.25)),
    row("memory", "MB", rerail=[151], direct=[20], goal=Goal("value", "at most", 150)),
    row("latency", "ms", rerail=[], goal=Goal("ratio", "at most", 0.2)),
]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1234"), (12.345, "12.3"), (0.01234, "0.0123"), (0.00012, "0.0001")],
)
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


def test_a_row_says_the_spread_of_its_ratio_and_whether_the_goal_is_reached() -> None:
    lines = plain(ROWS).splitlines()
    assert lines[1].split() == [
        "start-up",
        "ms",
        "–",
        "110",
        "500",
        "0.225",
        "(0.2–0.25)",
        "≤",
        "0.25",
        "yes",
    ]
    assert lines[2].split() == ["memory", "MB", "20", "151", "–", "–", "≤", "150", "MB", "NO"]
    assert lines[3].split() == ["latency", "ms", "–", "–", "–", "–", "≤", "0.2", "?"]


def test_the_columns_of_the_plain_table_are_aligned() -> None:
    heading, first = plain(ROWS).splitlines()[:2]
    assert heading.index("goal") + len("goal") == first.index("≤ 0.25") + len("≤ 0.25")


def test_markdown_has_as_many_cells_in_every_line() -> None:
    lines = markdown(ROWS).splitlines()
    assert {line.count("|") for line in lines} == {9}
    assert len(lines) == 2 + len(ROWS)


def test_the_document_can_be_written_as_json() -> None:
    made = json.loads(json.dumps(document(ROWS, {"date": "2026-01-01"})))
    assert made["date"] == "2026-01-01"
    assert made["rows"][0]["ratio"] == {"median": 0.225, "low": 0.2, "high": 0.25}
    assert [each["reached"] for each in made["rows"]] == [True, False, None]
