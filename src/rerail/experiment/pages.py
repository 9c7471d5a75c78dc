"""The receipt as Markdown and as one page of HTML. Text in it may come from anyone. Pure."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from rerail.experiment.receipt import Receipt
from rerail.experiment.telling import Heading, Paragraph, Part, Table, tell

_STYLE: Final = """
:root { color-scheme: light dark; --good: #14703a; --bad: #a8321f; }
@media (prefers-color-scheme: dark) { :root { --good: #6fd198; --bad: #ff9c86; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 81rem;
  padding: 0 1.5rem 4rem; overflow-wrap: anywhere; }
.model { position: sticky; top: 0; margin: 0 -1.5rem 1.5rem; padding: .6rem 1.5rem;
  font-weight: 600; background: #1d6b3a; color: #fff; }
.model.simulated { background: #8a5a00; }
h1 { font-size: 1.6rem; margin: 1rem 0 .5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.wide { overflow-x: auto; margin: .5rem 0 1rem; }
.wide:focus-visible { outline: 3px solid currentColor; outline-offset: 3px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
th, td:first-child, .short { white-space: nowrap; } th { font-weight: 600; }
td { min-width: 3rem; max-width: 32rem; }
.long { min-width: 12rem; }
.fixed { color: var(--good); font-weight: 600; }
.cheated, .broken { color: var(--bad); font-weight: 600; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } h2 { break-after: avoid; }
  .model, .model.simulated { position: static; color: #000; background: none; border: 2px solid;
    margin: 0; }
  .wide { overflow: visible; } table { font-size: 8pt; } tr { break-inside: avoid; }
  th, td, td:first-child, .short, .long { white-space: normal; min-width: 0; } }
"""
_HEAD: Final = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
    '<meta name="referrer" content="no-referrer">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
)
_SHORT: Final = 24
_MARKED: Final = frozenset(("fixed", "cheated", "broken"))
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def markdown(receipt: Receipt) -> str:
    """The page as Markdown; its first line says which model served."""
    lines = [f"**{_cell(receipt.model)}**", "", f"# {_cell(receipt.name)}", ""]
    for part in tell(receipt):
        lines += [*_markdown(part), ""]
    return "\n".join(lines)


def html(receipt: Receipt) -> str:
    """The page as HTML, with nothing to load; its first line says which model served."""
    kind = "model simulated" if receipt.simulated else "model"
    body = "\n".join(_html(part) for part in tell(receipt))
    return (
        f"{_HEAD}<title>{_text(receipt.name)}: {_text(receipt.model)}</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<p class="{kind}">{_text(receipt.model)}</p>\n<main>\n<h1>{_text(receipt.name)}</h1>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _markdown(part: Part) -> Iterator[str]:
    match part:
        case Heading(text):
            yield f"## {_cell(text)}"
        case Paragraph(text):
            yield _cell(text)
        case Table(names, rows):
            yield _row(names)
            yield "|" + "---|" * len(names)
            yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    """Text that stays in its cell and is no markup."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", _UNSAFE.sub(" ", text))


def _html(part: Part) -> str:
    match part:
        case Heading(text):
            return f"<h2>{_text(text)}</h2>"
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Table(names, rows):
            head = "".join(f'<th scope="col">{_text(name)}</th>' for name in names)
            body = "\n".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows)
            about = _text(", ".join(names))
            return (
                f'<div class="wide" tabindex="0" role="region" aria-label="{about}"><table>\n'
                f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
            )


def _td(text: str) -> str:
    kind = "short" if len(text) <= _SHORT else "long"
    marked = f" {text}" if text in _MARKED else ""
    return f'<td class="{kind}{marked}">{_text(text)}</td>'


def _text(text: str) -> str:
    return escape(_UNSAFE.sub(" ", text))
