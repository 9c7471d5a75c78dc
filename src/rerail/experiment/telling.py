"""A receipt in words and tables, for no medium yet: `pages` makes Markdown and HTML of it. Pure."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from rerail.experiment.contract import Contract
from rerail.experiment.measured import Run
from rerail.experiment.receipt import ArmResult, Comparison, Failure, Receipt, Share, Spread
from rerail.experiment.statistics import Interval


class Heading(Struct, frozen=True):
    """The beginning of a section."""

    text: str


class Paragraph(Struct, frozen=True):
    """Words."""

    text: str


class Table(Struct, frozen=True):
    """Rows of cells under names."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]


Part = Heading | Paragraph | Table


def tell(receipt: Receipt) -> Iterator[Part]:
    """The parts of the page in order, after its title and its first line."""
    yield from _summary(receipt)
    yield Heading("Arms")
    yield Table(_ARM, [_arm_row(arm) for arm in receipt.arms])
    yield Paragraph(
        "Intervals are 95 %: Wilson's, then the exact one. Tokens of runs that did not fix count; "
        "tokens of the first runs, which all arms have in common, do not."
    )
    yield Heading("Had a check run?")
    yield Table(
        ("arm", "a check had run", "none had run", "without broken runs"),
        [
            (arm.arm, _share(arm.checked), _share(arm.unchecked), _share(arm.unbroken))
            for arm in receipt.arms
        ],
    )
    yield Heading("By task")
    yield Table(("task", *receipt.plan.contract.arms), list(_task_rows(receipt)))
    yield Heading("Arm against arm")
    yield Table(_COMPARED, [_comparison_row(one) for one in receipt.comparisons])
    yield Paragraph(
        "Pairs are first runs, the same for both arms. McNemar's test is exact, and adjusted after "
        "Holm for all rows. Runs of one task are not independent: the sign-flip test is over "
        "tasks, exact. Tokens: Wilcoxon's signed-rank test over pairs, exact; the ratio of tokens "
        "per fix with a BCa bootstrap over tasks."
    )
    yield Heading("Saved states")
    yield Table(("bytes", "states", "median", "95th percentile", "all"), list(_state_rows(receipt)))
    yield Paragraph(
        "A tape keeps its states together, each as what is new in it: what they take is shared "
        "among them evenly."
    )
    yield from _first_runs(receipt)
    yield from _promised(receipt)
    yield Heading("Failures gone back to")
    yield Table(
        ("task", "seed", "turn", "errors there", "a check had run", *receipt.plan.contract.arms),
        [_failure_row(failure) for failure in receipt.failures],
    )
    yield from _said_wrong(receipt)
    yield Heading("Every run")
    yield Table(_RUN, [_run_row(run) for run in receipt.runs])


_ARM = (
    "arm", "fixed", "share", "Wilson", "exact", "cheated", "broken", "turns a run",
    "tokens a run", "tokens a fix",
)  # fmt: skip
_COMPARED = (
    "first", "second", "both", "only first", "only second", "neither", "McNemar p", "after Holm",
    "tasks", "sign-flip p", "tokens p", "tokens a fix, first by second",
)  # fmt: skip
_RUN = (
    "task", "seed", "arm", "outcome", "turns", "tokens in", "tokens out", "states", "from", "tape",
    "id",
)  # fmt: skip


def _summary(receipt: Receipt) -> Iterator[Part]:
    if not receipt.complete:
        missing = sum(arm.missing for arm in receipt.arms)
        yield Paragraph(
            f"Not complete: {receipt.firsts.kept} failures so far, {missing} runs of arms missing. "
            "The same command goes on with it."
        )
    if used_up(receipt):
        yield Paragraph(f"{used_up(receipt)}.")
    said = [f"{arm.arm} fixed {arm.all.fixed} of {arm.all.runs}" for arm in receipt.arms]
    yield Paragraph("; ".join(said) + ".")
    yield Paragraph(
        f"Plan {receipt.plan_digest}. {_day(receipt.began_ns)} to {_day(receipt.ended_ns)} UTC."
    )


def used_up(receipt: Receipt) -> str:
    """Where every seed was run and fewer failed than were asked for: how many."""
    kept, wanted = receipt.firsts.kept, receipt.plan.contract.failures
    if not receipt.complete or kept >= wanted:
        return ""
    return f"{kept} of {wanted} failures found, all seeds used up"


def _first_runs(receipt: Receipt) -> Iterator[Part]:
    firsts = receipt.firsts
    yield Heading("First runs")
    yield Paragraph(
        f"{firsts.runs} first runs: {firsts.fixed} fixed, {firsts.failed} failed, "
        f"{firsts.cheated} cheated, {firsts.broken} broken by the model's service; "
        f"{firsts.kept} failures kept; beyond the last of them, run and not counted: "
        f"{firsts.beyond}. "
        f"Tokens: {_count(firsts.tokens.input)} in, {_count(firsts.tokens.output)} out."
    )
    uncounted = sum(run.tokens.uncounted for run in receipt.runs)
    if uncounted:
        yield Paragraph(f"Of {uncounted} answers their service did not say the tokens.")
    unanswered = sum(run.tokens.unanswered for run in receipt.runs)
    if unanswered:
        yield Paragraph(
            f"{_requests(unanswered)} no answer on their tapes (refused, cut off, or asked when "
            "the experiment was killed): what they cost is not known."
        )
    if receipt.aside:
        yield Paragraph(
            "Begun, not to be gone on with, and begun anew: " + ", ".join(receipt.aside) + "."
        )


def _promised(receipt: Receipt) -> Iterator[Part]:
    contract = receipt.plan.contract
    yield Heading("Fixed beforehand")
    yield Table(("what", "how"), list(_promises(receipt, contract)))
    yield Table(
        ("task", "fixed when", "checker", "hint", "digest"),
        [
            (task.name, task.rule, task.checker, task.hint, task.digest)
            for task in receipt.plan.tasks
        ],
    )


def _promises(receipt: Receipt, contract: Contract) -> Iterator[tuple[str, str]]:
    model = contract.model
    yield "model", f"{model.name or model.serve} ({model.api}), {model.url or 'served by rerail'}"
    yield "sampling", ", ".join(f"{k}: {v}" for k, v in model.sampling.items()) or "as served"
    yield "turns", f"{contract.turns} of a first run, {contract.further} more in every arm"
    yield "seeds", ", ".join(map(str, contract.all_seeds))
    yield "step gone back to", f"{contract.point}: {receipt.plan.point_rule}"
    yield "hint", contract.hint
    yield "stop rule", receipt.plan.stop_rule
    yield "broken runs", receipt.plan.broken_rule
    yield "agent", receipt.plan.agent


def _said_wrong(receipt: Receipt) -> Iterator[Part]:
    """Cheating and broken runs are shown, not only counted; so is a check that was at fault."""
    rows = [
        (run.key.name, run.outcome, "; ".join(run.cheats) or run.why)
        for run in receipt.runs
        if run.outcome in ("cheated", "broken")
    ]
    if rows:
        yield Heading("Cheated and broken")
        yield Table(("run", "outcome", "why"), rows)
    faults = [(run.key.name, run.mismatch) for run in receipt.runs if run.mismatch]
    if faults:
        yield Heading("The agent's check and the judge do not agree")
        yield Table(("run", "how"), faults)


def _arm_row(arm: ArmResult) -> Sequence[str]:
    return (
        arm.arm,
        f"{arm.all.fixed} of {arm.all.runs}",
        _percent(arm.all.fixed / arm.all.runs) if arm.all.runs else "–",
        _bounds(arm.all.wilson),
        _bounds(arm.all.exact),
        str(arm.cheated),
        str(arm.broken),
        _number(arm.turns_per_run),
        _number(arm.tokens_per_run),
        _number(arm.tokens_per_fix),
    )


def _task_rows(receipt: Receipt) -> Iterator[Sequence[str]]:
    for task in receipt.plan.tasks:
        ends = [arm.by_task.get(task.name) for arm in receipt.arms]
        yield task.name, *(f"{end.fixed} of {end.runs}" if end else "–" for end in ends)


def _comparison_row(one: Comparison) -> Sequence[str]:
    ratio = _number(one.per_fix_ratio)
    if one.per_fix_interval:
        low, high = one.per_fix_interval.low, one.per_fix_interval.high
        ratio += f" ({_number(low)} to {_number(high)})"
    return (
        one.first,
        one.second,
        *map(str, (one.both, one.only_first, one.only_second, one.neither)),
        _p(one.mcnemar),
        _p(one.mcnemar_holm),
        str(one.tasks),
        _p(one.sign_flip),
        _p(one.tokens_wilcoxon),
        ratio,
    )


def _state_rows(receipt: Receipt) -> Iterator[Sequence[str]]:
    yield _spread_row("a state as it is", receipt.states)
    yield _spread_row("a state on its tape", receipt.stored)
    yield _spread_row("on its tape, a check had run", receipt.stored_checked)
    yield _spread_row("on its tape, none had run", receipt.stored_unchecked)


def _spread_row(name: str, spread: Spread) -> Sequence[str]:
    sizes = ("–" if size is None else _count(size) for size in (spread.median, spread.p95))
    return name, str(spread.count), *sizes, _count(spread.total)


def _failure_row(failure: Failure) -> Sequence[str]:
    return (
        failure.task,
        str(failure.seed),
        str(failure.turn),
        "not known" if failure.errors is None else str(failure.errors),
        "yes" if failure.checked else "no",
        *failure.outcomes.values(),
    )


def _run_row(run: Run) -> Sequence[str]:
    came_from = f"pause {run.pause} of {run.parent[7:19]}" if run.parent else ""
    return (
        run.key.task,
        str(run.key.seed),
        run.key.arm,
        run.outcome,
        str(run.turns),
        _count(run.tokens.input),
        _count(run.tokens.output),
        str(len(run.states)),
        came_from,
        run.tape,
        run.tape_id[7:19],
    )


def _share(share: Share) -> str:
    return f"{share.fixed} of {share.runs}" if share.runs else "–"


def _bounds(interval: Interval) -> str:
    return f"{_percent(interval.low)} to {_percent(interval.high)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _p(value: float) -> str:
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return _count(round(value)) if value >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")


def _requests(count: int) -> str:
    return "1 request has" if count == 1 else f"{_count(count)} requests have"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _day(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
