"""The table and the document. Pure: rows in, text out."""

from dataclasses import asdict
from typing import Any, Final

from bench.figures import Goal, Row, Spread

HEADINGS: Final = ("metric", "unit", "direct", "rerail", "peer", "rerail / peer", "goal", "reached")
_LEFT_COLUMNS: Final = 2


def plain(rows: list[Row]) -> str:
    """A table for a terminal."""
    lines = [HEADINGS, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < _LEFT_COLUMNS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(rows: list[Row]) -> str:
    """The same for a document."""
    rule = ["---" if column < _LEFT_COLUMNS else "---:" for column in range(len(HEADINGS))]
    lines = [HEADINGS, rule, *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: Row) -> tuple[str, ...]:
    """One row as text."""
    reached = {True: "yes", False: "NO", None: ""}[row.reached]
    if row.goal is not None and row.reached is None:
        reached = "?"
    values = (_median(row.direct), _median(row.rerail), _median(row.peer))
    goal = _goal(row.goal, row.unit) if row.goal else ""
    return (row.metric, row.unit, *values, _spread(row.ratio), goal, reached)


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.4f}"


def _median(spread: Spread | None) -> str:
    return number(spread.median) if spread else "–"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    if spread.low == spread.high:
        return number(spread.median)
    return f"{number(spread.median)} ({number(spread.low)}–{number(spread.high)})"


def _goal(goal: Goal, unit: str) -> str:
    sign = "≤" if goal.relation == "at most" else "≥"
    return f"{sign} {number(goal.bound)}" + (f" {unit}" if goal.subject == "value" else "")


def document(rows: list[Row], about: dict[str, Any]) -> dict[str, Any]:
    """Everything, for a program: the facts about the run, and each row with its spreads."""
    return {**about, "rows": [{**asdict(row), "reached": row.reached} for row in rows]}
