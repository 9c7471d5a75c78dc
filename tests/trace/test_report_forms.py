"""The three forms of a report: whatever stands in it is text, and every link leads somewhere."""

import re
from html.parser import HTMLParser
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from rerail.trace.final import FinalState
from rerail.trace.finding import Evidence
from rerail.trace.report import Line, Report
from rerail.trace.report_forms import to_markdown, to_yaml
from rerail.trace.report_page import to_html

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "dl", "dt", "dd", "a",
    "section", "b", "code", "pre", "span", "main", "div", "h3",
}  # fmt: skip


def made(text: str) -> Report:
    line = Line(text, text, (Evidence("A", "e1", text),), by=text)
    final = FinalState(text, text, text, text, text, text, text)
    return Report(final, text, (line,), (line,), (line,), (line,), (line,), (line,))


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_no_text_becomes_markup(text: str) -> None:
    contents = {("A", "e1"): text}
    page = Tags(to_html(made(text), {"A": text}, contents))
    assert page.seen <= ALLOWED
    assert not {name for name in page.attributes if name.startswith("on")}
    markdown = to_markdown(made(text), {"A": text}, contents).partition("## Evidence")[0]
    for tag in re.findall(r"(?<!\\)<", markdown):
        raise AssertionError(f"{tag} in {markdown!r}")
    assert set(re.findall(r"(?<!\\)\]\(([^)]*)\)", markdown)) == {"#A-e1"}


@given(st.text(st.sampled_from("`~ab\n"), max_size=30))
def test_a_fence_is_longer_than_any_in_what_it_holds(text: str) -> None:
    markdown = to_markdown(made("x"), {"A": "T"}, {("A", "e1"): text})
    evidence = markdown.partition("## Evidence")[2]
    opening = re.search(r"^(`{3,})text$", evidence, re.MULTILINE)
    assert opening is not None
    assert evidence.rstrip("\n").endswith("\n" + opening[1])
    assert opening[1] not in text


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_yaml_comes_back_as_it_was(text: str) -> None:
    document = yaml.safe_load(to_yaml(made(text), {"A": "rerail show T"}))
    assert document["run_id"] == text
    assert document["links"][0]["evidence"] == ["A e1"]
