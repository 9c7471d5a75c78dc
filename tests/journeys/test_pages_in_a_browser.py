"""The pages that are written, in Chromium: nothing runs, nothing is fetched, all of it can be read.

Skipped where no Chromium is installed (`apt install chromium`; RERAIL_CHROMIUM names another one).
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rerail.experiment.pages import html
from rerail.testing.origin import Origin
from rerail.testing.replies import content, routes
from rerail.trace.final import FinalState
from rerail.trace.finding import Evidence
from rerail.trace.report import Line, Report
from rerail.trace.report_page import to_html
from tests.experiment.test_pages import with_hostile_text

CHROMIUM = os.environ.get("RERAIL_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed: apt install chromium"),
]

HOSTILE = (
    '"></title></style></td></pre><script>document.title="RAN"</script>'
    '<img src="/fetched" onerror="document.title=\'RAN\'">'
    "<svg onload=\"document.title='RAN'\"><animate onbegin=\"document.title='RAN'\"/></svg>"
    '<link rel=stylesheet href="/fetched"><style>@import "/fetched";body{display:none}</style>'
    '<iframe src="/fetched"></iframe><meta http-equiv=refresh content="0;url=/fetched">'
    '<a href="javascript:document.title=1" autofocus onfocus="document.title=\'RAN\'">x</a>'
    "<base href=/fetched/><form action=/fetched><button>go</button></form>"
)
QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
LONG = "sha256:" + "0123456789abcdef" * 8

MEASURE = """<!doctype html><title>measuring</title><iframe src="/page" width=WIDTH height=800
style="border:0"></iframe><pre id=said></pre><script>
const part = (channel) => (channel /= 255) <= .04045 ? channel / 12.92
  : ((channel + .055) / 1.055) ** 2.4;
const light = ([red, green, blue]) => .2126 * part(red) + .7152 * part(green) + .0722 * part(blue);
const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
onload = () => {
  const frame = document.querySelector("iframe").contentWindow, page = frame.document;
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = numbers(frame.getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    const dark = frame.matchMedia("(prefers-color-scheme: dark)").matches;
    return dark ? [18, 18, 18] : [255, 255, 255];
  };
  const faint = [], texts = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) {
    if (!node.data.trim()) continue;
    const ink = light(numbers(frame.getComputedStyle(node.parentElement).color));
    const paper = light(behind(node.parentElement));
    const contrast = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
    if (contrast < 4.5) faint.push([node.data.slice(0, 40), contrast]);
  }
  const headings = [...page.querySelectorAll("h1,h2,h3,h4")].map((one) => +one.tagName[1]);
  const cards = [...page.querySelectorAll(".answers .says")];
  document.getElementById("said").textContent = JSON.stringify({
    faint, headings, language: page.documentElement.lang, title: page.title,
    dark: frame.matchMedia("(prefers-color-scheme: dark)").matches,
    over: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    policy: !!page.querySelector("meta[http-equiv]"),
    heads: [...page.querySelectorAll("th")].every((one) => one.scope),
    broken: [...page.links].filter((one) => !page.getElementById(one.hash.slice(1))).length,
    answers: cards.map((one) => [one.textContent, one.getBoundingClientRect().bottom]),
    foreign: page.querySelectorAll("script,img,svg,iframe,link,form,base").length,
  });
};
</script>"""


def report(text: str) -> Report:
    """A report in which every text is this one."""
    places = (Evidence("A", "e1", text), Evidence("A", "e2", text))
    state = FinalState("RUN-8894", "TASK-1061", text, text, "STOP", text, text)
    line = Line(text, text, places, by=text)
    first = (
        Line("classification", "check defect", places),
        Line("first_divergence", "the checker loaded baseline 11; stated: 12", places),
        line,
        Line("status", "partially applied", places),
    )
    links = (Line("Did it?", f"broken: {text}", places), Line("Did it?", f"holds: {text}", places))
    return Report(state, text, first, links, (line,), (line,), (line,), (line,))


def the_report(text: str = HOSTILE) -> str:
    contents = {("A", "e1"): text, ("A", "e2"): f"{text}\u202e\x1b[31m\ud800"}
    return to_html(report(text), {"A": text}, contents)


PAGES: dict[str, Callable[[], str]] = {
    "report": the_report,
    "report of long words": lambda: the_report(LONG),
    "receipt": lambda: html(with_hostile_text()),
}


class Browser:
    """Chromium, once a page, with a profile of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def dump(self, url: str, *flags: str) -> str:
        """The page as it is when it has loaded, and its scripts have run."""
        profile = f"--user-data-dir={self._folder}"
        words = [CHROMIUM, *QUIET, profile, *flags, "--virtual-time-budget=3000", "--dump-dom", url]
        done = subprocess.run(words, capture_output=True, timeout=90, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
        return done.stdout.decode()


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path / "profile")


def served(page: str, measure: str = "") -> Origin:
    return Origin(
        routes(
            {
                "/page": content(page.encode(), kind="text/html; charset=utf-8"),
                "/measure": content(measure.encode(), kind="text/html; charset=utf-8"),
            }
        )
    )


def fetched(origin: Origin) -> list[str]:
    return [one.path for one in origin.requests if one.path not in ("/page", "/favicon.ico")]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_of_a_stranger_runs_or_is_fetched(browser: Browser, name: str) -> None:
    with served(PAGES[name]()) as origin:
        dom = browser.dump(f"{origin.url}/page")
        assert "<title>RAN" not in dom
        assert "Content-Security-Policy" in dom
        assert fetched(origin) == []


def test_the_same_would_run_where_it_is_not_text(browser: Browser) -> None:
    """What the tests above rest on: that this browser, and these tests, would notice."""
    with served(f"<!doctype html><title>x</title><body>{HOSTILE}") as origin:
        dom = browser.dump(f"{origin.url}/page")
        assert "<title>RAN" in dom or "/fetched" in fetched(origin)


def test_the_policy_alone_stops_it_too(browser: Browser) -> None:
    head, _, rest = the_report("x").partition("<main>")
    with served(
        f"{head}<main>{HOSTILE.replace('<meta http-equiv=refresh', '<meta ')}{rest}"
    ) as origin:
        dom = browser.dump(f"{origin.url}/page")
        assert "<title>RAN" not in dom
        assert "<script>" in dom
        assert fetched(origin) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(390, 1), (1280, 0)], ids=["phone", "desk, dark"])
def test_it_can_be_read(browser: Browser, name: str, width: int, scheme: int) -> None:
    seen = measured(browser, PAGES[name](), width, scheme)
    assert seen["dark"] is (scheme == 0)
    assert seen["over"] == 0
    assert seen["faint"] == []
    assert (seen["language"], seen["policy"], seen["heads"]) == ("en", True, True)
    assert seen["headings"][0] == 1
    assert seen["headings"].count(1) == 1
    steps = zip(seen["headings"], seen["headings"][1:], strict=False)
    assert all(below <= above + 1 for above, below in steps)
    assert (seen["broken"], seen["foreign"]) == (0, 0)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_screen_says_what_broke_where_and_whether_it_is_safe(
    browser: Browser, width: int
) -> None:
    seen = measured(browser, the_report("Which record is first at odds with it?"), width, 1)
    assert [says for says, _ in seen["answers"]] == [
        "the checker loaded baseline 11",
        "check defect",
        "partially applied",
    ]
    assert all(bottom < 800 for _, bottom in seen["answers"])


def measured(browser: Browser, page: str, width: int, scheme: int) -> dict[str, Any]:
    with served(page, MEASURE.replace("WIDTH", str(width))) as origin:
        dom = browser.dump(
            f"{origin.url}/measure",
            "--window-size=1400,1000",
            f"--blink-settings=preferredColorScheme={scheme}",
        )
    said = dom.partition('<pre id="said">')[2].partition("</pre>")[0]
    seen: dict[str, Any] = json.loads(unescape(said))
    return seen
