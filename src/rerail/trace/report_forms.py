"""A report as YAML, as Markdown, and as a page that needs nothing but itself. Everything is quoted.

What stands in a report may be a stranger's: in Markdown and HTML it is text, and never markup.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rerail.trace.finding import Evidence
from rerail.trace.report import Line, Report

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")
_LINE_ENDS: Final = re.compile("[\x85\u2028\u2029]")
_SECTIONS: Final = (
    ("links", "Links"),
    ("safety", "Safety"),
    ("missing", "Missing records"),
    ("later", "Further findings"),
    ("competing", "Orders that are not known"),
)
_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1c1c1c;background:#fcfcfa}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
dt{font-weight:600;margin-top:.7rem}dd{margin:0}
a{color:#0b57a4;font-variant-numeric:tabular-nums}
section{border-top:1px solid #ddd;padding:.5rem 0}section:target{background:#fff6d6}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;background:#f2f2ee;padding:.7rem}
.said{color:#666}
@media(prefers-color-scheme:dark){body{color:#e6e6e3;background:#191918}pre{background:#242422}
a{color:#8fc1ff}section{border-color:#444}section:target{background:#3a3415}.said{color:#aaa}}
"""

Contents = Mapping[tuple[str, str], str]
"""What stands at each place of evidence, as text."""


def to_yaml(report: Report, sources: Mapping[str, str]) -> str:
    """The report as YAML; `sources` says for each name how to open it."""
    import yaml

    document: dict[str, Any] = report.values() | {"sources": dict(sources)}
    # Line ends of Unicode would be folded into blanks: then everything beyond ASCII is escaped.
    plain = _LINE_ENDS.search(json.dumps(document, ensure_ascii=False)) is None
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=plain, width=100)


def to_markdown(report: Report, sources: Mapping[str, str], contents: Contents) -> str:
    """The report as Markdown, the evidence behind it."""
    return "\n".join(_markdown(report, sources, contents)) + "\n"


def _markdown(report: Report, sources: Mapping[str, str], contents: Contents) -> Iterator[str]:
    yield f"# {_plain(report.final.run_id)}: failure report"
    yield ""
    yield f"{_plain(report.question)}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for line in report.lines:
        yield f"| **{_plain(line.name)}** | {_plain(line.says)} {_links(line)} |"
    for name, title in _SECTIONS:
        lines: Sequence[Line] = getattr(report, name)
        if lines:
            yield f"\n## {title}\n"
            yield from (
                f"- **{_plain(one.name)}** {_plain(one.says)} {_links(one)}" for one in lines
            )
    yield "\n## Evidence"
    for place in report.evidence():
        yield f'\n<a id="{_anchor(place)}"></a>\n'
        yield f"### {_plain(f'{place.source} {place.ref}')}\n"
        yield f"`{sources.get(place.source, '').replace('`', '')} {place.ref}`\n"
        yield from _fenced(contents.get((place.source, place.ref), ""))


def _links(line: Line) -> str:
    said = f"(says {_plain(line.by)}) " if line.by else ""
    places = {(place.source, place.ref): place for place in line.evidence}.values()
    return said + " ".join(
        f"[{_plain(f'{place.source} {place.ref}')}](#{_anchor(place)})" for place in places
    )


def _fenced(text: str) -> Iterator[str]:
    """A fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Text that Markdown and the HTML in it leave alone."""
    return html.escape(_MARKUP.sub(r"\\\1", " ".join(text.split())), quote=False)


def _anchor(place: Evidence) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{place.source}-{place.ref}")


def to_html(report: Report, sources: Mapping[str, str], contents: Contents) -> str:
    """The report as one page: no script, nothing loaded from anywhere."""
    title = _escaped(f"{report.final.run_id}: failure report")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        + "".join(_html(report, sources, contents))
        + "</body></html>\n"
    )


def _html(report: Report, sources: Mapping[str, str], contents: Contents) -> Iterator[str]:
    yield f"<p>{_escaped(report.question)}</p>\n<dl>"
    yield from (_html_line(line) for line in report.lines)
    yield "</dl>\n"
    for name, title in _SECTIONS:
        lines: Sequence[Line] = getattr(report, name)
        if lines:
            yield f"<h2>{title}</h2>\n<dl>"
            yield from (_html_line(line) for line in lines)
            yield "</dl>\n"
    yield "<h2>Evidence</h2>\n"
    for place in report.evidence():
        opens = _escaped(f"{sources.get(place.source, '')} {place.ref}")
        said = _escaped(contents.get((place.source, place.ref), ""))
        yield (
            f'<section id="{_anchor(place)}"><b>{_escaped(f"{place.source} {place.ref}")}</b> '
            f"<code>{opens}</code><pre>{said}</pre></section>\n"
        )


def _html_line(line: Line) -> str:
    places = {(place.source, place.ref): place for place in line.evidence}.values()
    links = " ".join(
        f'<a href="#{_anchor(place)}">{_escaped(f"{place.source} {place.ref}")}</a>'
        for place in places
    )
    said = f' <span class="said">says {_escaped(line.by)}</span>' if line.by else ""
    return f"<dt>{_escaped(line.name)}</dt><dd>{_escaped(line.says)}{said} {links}</dd>\n"


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
