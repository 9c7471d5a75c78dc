"""The form of a receipt: every run and every number, as data. `reckoning` computes one.

Nothing in it comes from a clock or from a memory of the run: the same tapes make the same receipt.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from rerail.experiment.measured import Run, Tokens
from rerail.experiment.plan import Plan
from rerail.experiment.statistics import CONFIDENCE, RESAMPLES, Interval

FORMAT: Final = 1
SCHEMA_ID: Final = "urn:rerail:receipt:1"


def _says(text: str) -> Meta:
    return Meta(description=text)


class Share(Struct, frozen=True, kw_only=True):
    """So many of so many, with both 95 % intervals."""

    fixed: int
    runs: int
    wilson: Interval
    exact: Interval


class TaskShare(Struct, frozen=True, kw_only=True):
    """The same of one task: too few runs for an interval."""

    fixed: int
    runs: int


class Spread(Struct, frozen=True, kw_only=True):
    """Sizes in bytes: percentiles are values that occurred."""

    count: int
    median: int | None
    p95: int | None
    total: int


class Firsts(Struct, frozen=True, kw_only=True):
    """The first runs up to the last failure that was kept."""

    runs: int
    fixed: int
    failed: int
    cheated: int
    broken: int
    kept: Annotated[int, _says("failures that the arms were run on")]
    beyond: Annotated[int, _says("runs after the last of them: kept on tape, not counted")]
    tokens: Tokens


class ArmResult(Struct, frozen=True, kw_only=True):
    """One arm over all kept failures."""

    arm: str
    all: Share
    checked: Annotated[Share, _says("where a check had run in the first run")]
    unchecked: Annotated[Share, _says("where none had")]
    unbroken: Annotated[Share, _says("without runs that the model's service broke")]
    by_task: dict[str, TaskShare]
    cheated: int
    broken: int
    missing: Annotated[int, _says("runs that are not over")]
    tokens: Tokens
    tokens_per_run: float | None
    tokens_per_fix: Annotated[float | None, _says("all runs' tokens by fixes; null without a fix")]
    turns_per_run: float | None


class Comparison(Struct, frozen=True, kw_only=True):
    """Two arms on the same failures."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int
    mcnemar: Annotated[float, _says("exact, two-sided, over the pairs")]
    mcnemar_holm: Annotated[float, _says("adjusted over all comparisons of this receipt")]
    tasks: int
    sign_flip: Annotated[
        float, _says("exact, over tasks: runs of one task are not independent of each other")
    ]
    tokens_wilcoxon: Annotated[float, _says("exact signed rank, over the pairs' tokens")]
    per_fix_ratio: Annotated[float | None, _says("tokens per fix, first by second")]
    per_fix_interval: Annotated[
        Interval | None, _says(f"95 %, BCa, {RESAMPLES} draws of tasks; null: undefined too often")
    ]


class Failure(Struct, frozen=True, kw_only=True):
    """A kept failure: where it was gone back to, and what became of it in each arm."""

    task: str
    seed: int
    tape: str
    pause: int
    turn: int
    errors: Annotated[int | None, _says("at that step; null: no check had run")]
    checked: bool
    hint: str
    outcomes: dict[str, str]


class Receipt(Struct, frozen=True, kw_only=True):
    """All of it. `model` is the sentence with which every page begins."""

    format: int = FORMAT
    model: str
    models: Annotated[list[str], _says("as their services named themselves in the replies")]
    simulated: bool
    name: str
    plan_digest: str
    plan: Plan
    complete: bool
    confidence: float = CONFIDENCE
    began_ns: int
    ended_ns: int
    firsts: Firsts
    arms: list[ArmResult]
    comparisons: list[Comparison]
    states: Annotated[Spread, _says("a saved state as it is, over all runs")]
    stored: Annotated[
        Spread,
        _says("what its tape keeps for one: a frame holds all of a tape, shared among them evenly"),
    ]
    stored_checked: Annotated[Spread, _says("the same, of runs in which a check had run")]
    stored_unchecked: Annotated[Spread, _says("of runs in which none had")]
    failures: list[Failure]
    runs: list[Run]
    mismatches: Annotated[int, _says("runs whose agent's check and whose judge did not agree")]
    aside: Annotated[
        list[str], _says("tapes of runs that were begun and could not be gone on with")
    ]


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a receipt: what `spec/` publishes."""
    described = msgspec.json.schema(Receipt)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "rerail experiment receipt",
        **described,
    }


def to_json(receipt: Receipt) -> bytes:
    """The receipt as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"
