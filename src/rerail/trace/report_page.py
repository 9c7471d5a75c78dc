"""A report as one page of HTML that needs nothing but itself: what broke first, where, is it safe.

The first screen answers that; the rest is for whoever asks further. What stands in a report may be
a stranger's: here it is text, never markup, and signs that would hide or turn it are spelled out.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rerail.trace.finding import Evidence
from rerail.trace.report import Line, Report

Contents = Mapping[tuple[str, str], str]
"""What stands at each place of evidence, as text."""

_ANSWERS: Final = (
    ("first_divergence", "What broke first?"),
    ("classification", "Where?"),
    ("status", "How does the world stand?"),
)
_SECTIONS: Final = (
    ("links", "Links"),
    ("safety", "Safety"),
    ("missing", "Missing records"),
    ("later", "Further findings"),
    ("competing", "Orders that are not known"),
)
_TONES: Final = {
    "contained": "good",
    "rolled back": "good",
    "applied": "bad",
    "partially applied": "bad",
    "unresolved": "bad",
    "holds": "good",
    "broken": "bad",
}
_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1c1a;--soft:#5c5c57;--paper:#fcfcfa;--card:#fff;
--edge:#d8d8d2;--link:#0b57a4;--good:#17693a;--bad:#a8321f;--mark:#fff3c4;--code:#f2f2ee}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e4;--soft:#b0b0a9;--paper:#191918;--card:#222220;
--edge:#45453f;--link:#8fc1ff;--good:#6fd198;--bad:#ff9c86;--mark:#3f3917;--code:#262624}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:1.5rem 1rem 4rem;
color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}
h3{font-size:.95rem;margin:0}p{margin:.2rem 0}
.about,.question,.by,code{color:var(--soft)}.about{margin-bottom:1.2rem;font-size:.9rem}
.answers{display:grid;gap:.8rem;grid-template-columns:2fr 1fr 1fr}
.answers div{background:var(--card);border:1px solid var(--edge);border-top:4px solid var(--soft);
border-radius:6px;padding:.7rem .9rem}
.answers h2{margin:0 0 .2rem;font-size:.85rem;color:var(--soft);font-weight:600}
.answers .says{font-size:1.1rem;font-weight:600}
.answers .good{border-top-color:var(--good)}.answers .bad{border-top-color:var(--bad)}
.good>.says,.good>b{color:var(--good)}.bad>.says,.bad>b{color:var(--bad)}
dl{margin:0}dl>div{display:grid;grid-template-columns:15rem 1fr;gap:.2rem 1rem;padding:.45rem 0;
border-bottom:1px solid var(--edge)}
dt{font-weight:600}dd{margin:0}
a{color:var(--link);white-space:nowrap;font-size:.9rem;font-variant-numeric:tabular-nums}
a:focus-visible{outline:3px solid var(--link);outline-offset:2px}
section{border-top:1px solid var(--edge);padding:.7rem 0;scroll-margin-top:1rem}
section:target{background:var(--mark);box-shadow:0 0 0 .5rem var(--mark)}
pre{white-space:pre-wrap;font-size:.8rem;background:var(--code);padding:.7rem;margin:.4rem 0 0;
border-radius:4px}
@media(max-width:46rem){.answers{grid-template-columns:1fr}dl>div{grid-template-columns:1fr}}
@media print{:root{--paper:#fff;--code:#fff}body{max-width:none;font-size:11pt;padding:0}
pre{border:1px solid var(--edge)}h2,h3,dt{break-after:avoid}dl>div,.answers{break-inside:avoid}}
"""
_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
    '<meta name="referrer" content="no-referrer">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
)


def to_html(report: Report, sources: Mapping[str, str], contents: Contents) -> str:
    """The report as one page: no script, nothing loaded from anywhere."""
    title = _text(f"{report.final.run_id}: failure report")
    return (
        f"{_HEAD}<title>{title}</title><style>{_STYLE}</style></head><body>\n<main>\n"
        + "".join(_main(report, title))
        + "<h2>Evidence</h2>\n"
        + "".join(_evidence(report, sources, contents))
        + "</main></body></html>\n"
    )


def anchor(place: Evidence) -> str:
    """Where a place stands on the page, as an id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{place.source}-{place.ref}")


def _main(report: Report, title: str) -> Iterator[str]:
    final = report.final
    yield f"<h1>{title}</h1>\n<p class=question>{_text(report.question)}</p>\n"
    about = f"task {final.task_id}, runner: {final.runner_state}, verdict: {final.verdict}"
    yield f"<p class=about>{_text(about)}</p>\n<div class=answers>\n"
    first = dict(_ANSWERS)
    lines = {line.name: line for line in report.lines}
    yield from (_answer(lines[name], asks) for name, asks in _ANSWERS if name in lines)
    yield "</div>\n"
    rest = [line for line in report.lines if line.name not in first]
    yield from _listed("What it means, and what is to be done", rest)
    for name, asks in _SECTIONS:
        yield from _listed(asks, getattr(report, name))


def _answer(line: Line, asks: str) -> str:
    tone = _TONES.get(line.says, "") if line.name == "status" else ""
    what, _, stated = line.says.partition("; stated: ")
    against = f"<p>stated: {_text(stated)}</p>" if stated else ""
    says = f"<p class=says>{_text(what)}</p>{against}<p>{_places(line)}</p>"
    return f'<div class="{tone}"><h2>{asks}</h2>{says}</div>\n'


def _listed(title: str, lines: Sequence[Line]) -> Iterator[str]:
    if lines:
        yield f"<h2>{title}</h2>\n<dl>\n"
        yield from map(_line, lines)
        yield "</dl>\n"


def _line(line: Line) -> str:
    by = f" <span class=by>says {_text(line.by)}</span>" if line.by else ""
    standing, mark, because = line.says.partition(": ")
    tone = _TONES.get(standing, "") if mark else ""
    says = f"<b>{_text(standing)}</b>: {_text(because)}" if tone else _text(line.says)
    name = _text(line.name.replace("_", " "))
    return f'<div><dt>{name}</dt><dd class="{tone}">{says}{by} {_places(line)}</dd></div>\n'


def _places(line: Line) -> str:
    places = {(place.source, place.ref): place for place in line.evidence}.values()
    return " ".join(
        f'<a href="#{anchor(place)}">{_text(f"{place.source} {place.ref}")}</a>' for place in places
    )


def _evidence(report: Report, sources: Mapping[str, str], contents: Contents) -> Iterable[str]:
    for place in report.evidence():
        title = _text(f"{place.source} {place.ref}")
        opens = _text(f"{sources.get(place.source, '')} {place.ref}")
        said = _text(contents.get((place.source, place.ref), ""))
        yield (
            f'<section id="{anchor(place)}"><h3>{title}</h3>'
            f"<code>{opens}</code><pre>{said}</pre></section>\n"
        )


def _text(text: str) -> str:
    """Text that is only that; what cannot be seen, or turns what is seen, is spelled out."""
    return html.escape(_HIDDEN.sub(_spelled, text), quote=True)


def _spelled(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
