"""From runs to the numbers of a receipt. Pure: the order of the runs makes no difference."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from rerail.experiment.contract import Arm
from rerail.experiment.measured import Run, Tokens, kept_failures, point
from rerail.experiment.plan import FIRST, Key, Plan
from rerail.experiment.receipt import (
    ArmResult,
    Comparison,
    Failure,
    Firsts,
    Receipt,
    Share,
    Spread,
    TaskShare,
)
from rerail.experiment.statistics import (
    Interval,
    bootstrap,
    clopper_pearson,
    holm,
    mcnemar,
    percentile,
    sign_flip,
    wilcoxon,
    wilson,
)

SIMULATED: Final = "simulated-1"
"""What the built-in simulated model calls itself in every reply."""

COMPARED: Final[tuple[tuple[Arm, Arm], ...]] = (
    ("rewind+hint", "start-over+hint"),
    ("rewind", "start-over"),
    ("rewind+hint", "rewind"),
    ("start-over+hint", "start-over"),
    ("rewind+hint", "history+hint"),
)
"""Fixed beforehand. The first is the question; Holm's adjustment is over all."""


def make_receipt(plan: Plan, runs: Sequence[Run], aside: Sequence[str] = ()) -> Receipt:
    """Compute a receipt."""
    by_key = {run.key: run for run in runs}
    firsts = [by_key.get(key) for key in plan.firsts()]
    kept, counted = kept_failures(firsts, plan.contract)
    over = [run for run in runs if run.key.arm == FIRST]
    arms = [_arm(arm, kept, by_key) for arm in plan.contract.arms]
    models = sorted({model for run in runs for model in run.models})
    enough = len(kept) == plan.contract.failures or counted == len(firsts)
    return Receipt(
        model=sentence(models, plan),
        models=models,
        simulated=SIMULATED in models,
        name=plan.contract.name,
        plan_digest=plan.digest,
        plan=plan,
        complete=enough and not any(arm.missing for arm in arms),
        began_ns=min((run.began_ns for run in runs), default=0),
        ended_ns=max((run.began_ns + run.took_ns for run in runs), default=0),
        firsts=_firsts([run for run in firsts[:counted] if run], kept, len(over) - counted),
        arms=arms,
        comparisons=_comparisons(plan, kept, by_key),
        states=_spread([state.size for run in runs for state in run.states]),
        stored=_stored(runs),
        stored_checked=_stored([run for run in runs if run.checked]),
        stored_unchecked=_stored([run for run in runs if not run.checked]),
        failures=[_failure(run, plan, by_key) for run in kept],
        runs=sorted(runs, key=lambda run: run.key),
        mismatches=sum(bool(run.mismatch) for run in runs),
        aside=sorted(aside),
    )


def sentence(models: Sequence[str], plan: Plan) -> str:
    """Which model served, and whether it was a real one."""
    if not models:
        return "No model has answered yet."
    if SIMULATED in models:
        beside = [model for model in models if model != SIMULATED]
        more = f" (and {', '.join(beside)})" if beside else ""
        return (
            f"Simulated model: {SIMULATED}{more}, a policy that comes with rerail; "
            "nothing here says anything about a real model."
        )
    where = "on this machine" if plan.contract.model.serve == "local" else plan.contract.model.url
    return f"Real model: {', '.join(models)}, as its service named itself, {where}."


_ByKey = Mapping[Key, Run]


def _firsts(counted: list[Run], kept: list[Run], beyond: int) -> Firsts:
    outcomes = [run.outcome for run in counted]
    return Firsts(
        runs=len(counted),
        fixed=outcomes.count("fixed"),
        failed=outcomes.count("failed"),
        cheated=outcomes.count("cheated"),
        broken=outcomes.count("broken"),
        kept=len(kept),
        beyond=beyond,
        tokens=_tokens(counted),
    )


def _in_arm(arm: str, failure: Run, by_key: _ByKey) -> Run | None:
    return by_key.get(Key(failure.key.task, failure.key.seed, arm))


def _arm(arm: str, kept: list[Run], by_key: _ByKey) -> ArmResult:
    pairs = [(failure, _in_arm(arm, failure, by_key)) for failure in kept]
    runs = [run for _, run in pairs if run]
    tokens, fixes = _tokens(runs), sum(run.fixed for run in runs)
    return ArmResult(
        arm=arm,
        all=_share(runs),
        checked=_share([run for failure, run in pairs if run and failure.checked]),
        unchecked=_share([run for failure, run in pairs if run and not failure.checked]),
        unbroken=_share([run for run in runs if run.outcome != "broken"]),
        by_task=_by_task(runs),
        cheated=sum(run.outcome == "cheated" for run in runs),
        broken=sum(run.outcome == "broken" for run in runs),
        missing=len(kept) - len(runs),
        tokens=tokens,
        tokens_per_run=_by(tokens.total, len(runs)),
        tokens_per_fix=_by(tokens.total, fixes),
        turns_per_run=_by(sum(run.turns for run in runs), len(runs)),
    )


def _by_task(runs: list[Run]) -> dict[str, TaskShare]:
    tasks = sorted({run.key.task for run in runs})
    of = {task: [run.fixed for run in runs if run.key.task == task] for task in tasks}
    return {task: TaskShare(fixed=sum(ends), runs=len(ends)) for task, ends in of.items()}


def _comparisons(plan: Plan, kept: list[Run], by_key: _ByKey) -> list[Comparison]:
    asked = [pair for pair in COMPARED if set(pair) <= set(plan.contract.arms)]
    pairs = {
        names: [
            (first, second)
            for failure in kept
            if (first := _in_arm(names[0], failure, by_key))
            and (second := _in_arm(names[1], failure, by_key))
        ]
        for names in asked
    }
    raw = {str(names): mcnemar(*_discordant(pairs[names])) for names in asked}
    adjusted = holm(raw)
    return [_comparison(*names, pairs[names], adjusted[str(names)]) for names in asked]


def _comparison(
    first: str, second: str, pairs: list[tuple[Run, Run]], adjusted: float
) -> Comparison:
    only_first, only_second = _discordant(pairs)
    both = sum(a.fixed and b.fixed for a, b in pairs)
    tasks = sorted({a.key.task for a, _ in pairs})
    ratio = _per_fix_ratio(pairs)
    interval = bootstrap(tasks, ratio) if tasks else None
    return Comparison(
        first=first,
        second=second,
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=len(pairs) - both - only_first - only_second,
        mcnemar=_plain(mcnemar(only_first, only_second)),
        mcnemar_holm=_plain(adjusted),
        tasks=len(tasks),
        sign_flip=_plain(sign_flip([_difference(task, pairs) for task in tasks])),
        tokens_wilcoxon=_plain(wilcoxon([a.tokens.total - b.tokens.total for a, b in pairs])),
        per_fix_ratio=_maybe(ratio(dict.fromkeys(tasks, 1))),
        per_fix_interval=_interval(interval) if interval else None,
    )


def _discordant(pairs: Sequence[tuple[Run, Run]]) -> tuple[int, int]:
    return (
        sum(a.fixed and not b.fixed for a, b in pairs),
        sum(b.fixed and not a.fixed for a, b in pairs),
    )


def _difference(task: str, pairs: Sequence[tuple[Run, Run]]) -> Fraction:
    of_task = [(a, b) for a, b in pairs if a.key.task == task]
    return Fraction(sum(a.fixed - b.fixed for a, b in of_task), len(of_task))


def _per_fix_ratio(
    pairs: Sequence[tuple[Run, Run]],
) -> Callable[[Mapping[str, int]], float | None]:
    sums: dict[str, list[int]] = {}
    for a, b in pairs:
        held = sums.setdefault(a.key.task, [0, 0, 0, 0])
        for place, value in enumerate((a.tokens.total, a.fixed, b.tokens.total, b.fixed)):
            held[place] += value

    def ratio(counts: Mapping[str, int]) -> float | None:
        spent, fixes, other_spent, other_fixes = (
            sum(sums[task][place] * count for task, count in counts.items()) for place in range(4)
        )
        if not fixes or not other_fixes or not other_spent:
            return None
        return (spent / fixes) / (other_spent / other_fixes)

    return ratio


def _failure(run: Run, plan: Plan, by_key: _ByKey) -> Failure:
    state = point(run, plan.contract.point)
    arms = {arm: _in_arm(arm, run, by_key) for arm in plan.contract.arms}
    hints = {found.hint for found in arms.values() if found and found.hint}
    return Failure(
        task=run.key.task,
        seed=run.key.seed,
        tape=run.tape,
        pause=state.pause,
        turn=state.turn or 0,
        errors=state.errors,
        checked=run.checked,
        hint=", ".join(sorted(hints)),
        outcomes={arm: found.outcome if found else "missing" for arm, found in arms.items()},
    )


def _stored(runs: Sequence[Run]) -> Spread:
    return _spread([state.stored for run in runs for state in run.states])


def _share(runs: Sequence[Run]) -> Share:
    fixed = sum(run.fixed for run in runs)
    return Share(
        fixed=fixed,
        runs=len(runs),
        wilson=_interval(wilson(fixed, len(runs))),
        exact=_interval(clopper_pearson(fixed, len(runs))),
    )


def _tokens(runs: Sequence[Run]) -> Tokens:
    return Tokens(
        input=sum(run.tokens.input for run in runs),
        output=sum(run.tokens.output for run in runs),
        calls=sum(run.tokens.calls for run in runs),
        uncounted=sum(run.tokens.uncounted for run in runs),
        unanswered=sum(run.tokens.unanswered for run in runs),
    )


def _spread(sizes: list[int]) -> Spread:
    return Spread(
        count=len(sizes),
        median=percentile(sizes, 0.5),
        p95=percentile(sizes, 0.95),
        total=sum(sizes),
    )


def _by(total: int, count: int) -> float | None:
    return _plain(total / count) if count else None


def _maybe(value: float | None) -> float | None:
    return None if value is None else _plain(value)


def _interval(interval: Interval) -> Interval:
    return Interval(_plain(interval.low), _plain(interval.high))


def _plain(value: float) -> float:
    """Six significant digits: what a person reads, and the same on every machine."""
    return float(f"{value:.6g}")
