"""A report as YAML and as Markdown. Everything in it is quoted.

What stands in a report may be a stranger's: in Markdown it is text, and never markup.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rerail.trace.report import Line, Report
from rerail.trace.report_page import Contents, anchor

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")
_LINE_ENDS: Final = re.compile("[\x85\u2028\u2029]")
_SECTIONS: Final = (
    ("links", "Links"),
    ("safety", "Safety"),
    ("missing", "Missing records"),
    ("later", "Further findings"),
    ("competing", "Orders that are not known"),
)


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
        yield f'\n<a id="{anchor(place)}"></a>\n'
        yield f"### {_plain(f'{place.source} {place.ref}')}\n"
        yield f"`{sources.get(place.source, '').replace('`', '')} {place.ref}`\n"
        yield from _fenced(contents.get((place.source, place.ref), ""))


def _links(line: Line) -> str:
    said = f"(says {_plain(line.by)}) " if line.by else ""
    places = {(place.source, place.ref): place for place in line.evidence}.values()
    return said + " ".join(
        f"[{_plain(f'{place.source} {place.ref}')}](#{anchor(place)})" for place in places
    )


def _fenced(text: str) -> Iterator[str]:
    """A fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Text that Markdown and the HTML in it leave alone."""
    return html.escape(_MARKUP.sub(r"\\\1", " ".join(text.split())), quote=False)
