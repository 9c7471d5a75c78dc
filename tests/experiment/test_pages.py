"""Both pages say first which model served, and text from anywhere stays text."""

from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from rerail.experiment.pages import html, markdown
from rerail.experiment.receipt import Receipt
from rerail.experiment.reckoning import make_receipt

from .made_up import key, plan, run
from .test_receipt import receipt, three_failures

HOSTILE = "</td><script>alert(1)</script> | `x` **b** \u202e\x1b[2J"


def with_hostile_text() -> Receipt:
    runs = three_failures()
    runs[-1] = run(runs[-1].key, "broken", why=HOSTILE, models=["simulated-1"])
    return make_receipt(plan(name=HOSTILE), runs)


def test_the_first_line_says_which_model_and_that_it_is_simulated() -> None:
    first = markdown(receipt()).partition("\n")[0]
    assert first.startswith("**Simulated model: simulated-1")
    body = html(receipt()).partition("<body>")[2].strip().partition("\n")[0]
    assert body.startswith('<p class="model simulated">Simulated model: simulated-1')


def test_a_real_model_is_not_coloured_as_simulated() -> None:
    real = make_receipt(plan(), [run(key(1), models=["small-1"])])
    assert '<p class="model">Real model: small-1' in html(real)


def test_seeds_that_were_used_up_before_enough_failed_are_said() -> None:
    plan_of_more = plan(failures=20)
    few = make_receipt(plan_of_more, three_failures())
    said = f"{few.firsts.kept} of 20 failures found, all seeds used up"
    assert (said in markdown(few)) is few.complete
    whole = replace(few, complete=True)
    assert said in markdown(whole)
    assert "used up" not in markdown(receipt())


@pytest.mark.parametrize("make", [markdown, html])
def test_every_run_and_every_promise_is_on_the_page(make: object) -> None:
    page = markdown(receipt()) if make is markdown else html(receipt())
    for one in receipt().runs:
        assert one.tape in page.replace("\\", "")
    for word in ("rewind+hint", "McNemar", "sign-flip", "Wilson", "stop rule", "last-fewest"):
        assert word in page
    assert receipt().plan_digest in page


def test_all_rows_of_a_markdown_table_have_as_many_cells() -> None:
    width = 0
    for line in markdown(with_hostile_text()).splitlines():
        cells = line.replace("\\|", "").count("|")
        width = cells if not width and cells else width if cells else 0
        assert cells == width, line


def test_hostile_text_is_shown_as_text() -> None:
    page = html(with_hostile_text())
    assert "<script" not in page
    assert "alert(1)" in page
    for sign in ("\u202e", "\x1b"):
        assert sign not in page + markdown(with_hostile_text())


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert not {"src", "href", "onload"} & {name for name, _ in attrs}
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    tags = Tags()
    tags.feed(html(with_hostile_text()))
    assert tags.open == []
