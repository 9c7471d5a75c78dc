"""The report's page: what is asked first stands first, and text stays what it was, and visible."""

import re

import pytest

from rerail.trace.final import FinalState
from rerail.trace.finding import Evidence
from rerail.trace.report import Line, Report
from rerail.trace.report_page import anchor, to_html

PLACE = Evidence("A", "e1", "x")
STATE = FinalState("RUN-1", "TASK-1", "stopped", "none", "STOP", "none", "removed")


def made(*lines: Line, links: tuple[Line, ...] = ()) -> str:
    report = Report(STATE, "Why?", lines, links, (), (), (), ())
    return to_html(report, {"A": "rerail show T"}, {("A", "e1"): "loaded 11"})


def test_the_three_answers_come_first_in_their_order() -> None:
    page = made(
        Line("classification", "check defect", (PLACE,)),
        Line("first_divergence", "11 was loaded; stated: 12", (PLACE,)),
        Line("recovery", "repair it", (PLACE,)),
        Line("status", "contained", (PLACE,)),
    )
    assert re.findall(r"<h2>([^<]*)</h2>", page) == [
        "What broke first?",
        "Where?",
        "How does the world stand?",
        "What it means, and what is to be done",
        "Evidence",
    ]
    assert "<p class=says>11 was loaded</p><p>stated: 12</p>" in page


@pytest.mark.parametrize(
    ("says", "tone"),
    [("contained", "good"), ("partially applied", "bad"), ("unresolved", "bad"), ("new", "")],
)
def test_a_state_has_its_colour_and_one_that_is_not_known_none(says: str, tone: str) -> None:
    assert f'<div class="{tone}"><h2>How does' in made(Line("status", says, (PLACE,)))


@pytest.mark.parametrize(("says", "tone"), [("holds: x", "good"), ("broken: x", "bad")])
def test_a_link_says_how_it_stands(says: str, tone: str) -> None:
    page = made(links=(Line("Did it?", says, (PLACE,)),))
    assert f'<dd class="{tone}"><b>{says.partition(":")[0]}</b>: x' in page


def test_every_place_is_a_link_to_what_stands_there() -> None:
    page = made(Line("owner", "ada", (PLACE, PLACE), by="ada"))
    assert page.count(f'href="#{anchor(PLACE)}"') == 1
    assert f'<section id="{anchor(PLACE)}"><h3>A e1</h3>' in page
    assert "<pre>loaded 11</pre>" in page
    assert "says ada" in page


@pytest.mark.parametrize("sign", ["\u202e", "\x1b", "\u200b", "\ufeff", "\ud800", "\x00"])
def test_a_sign_that_cannot_be_seen_is_spelled_out(sign: str) -> None:
    page = made(Line("impact", f"a{sign}b", (PLACE,)))
    assert sign not in page
    assert f"a\\u{ord(sign):04x}b" in page
    page.encode()
