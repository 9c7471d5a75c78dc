"""The numbers of a receipt, against runs whose numbers are known."""

import json
from pathlib import Path

import jsonschema
import pytest

from rerail.experiment.measured import Run, State, Tokens
from rerail.experiment.receipt import Receipt, schema, to_json
from rerail.experiment.reckoning import make_receipt

from .made_up import key, plan, run, states

PUBLISHED = Path(__file__).parents[2] / "spec" / "receipt.schema.json"


def tokens(total: int) -> Tokens:
    return Tokens(input=total - 10, output=10, calls=5)


def three_failures() -> list[Run]:
    """All of seed 0; nothing is fixed but by rewinding, twice with the hint and once without."""
    runs = [run(key(n), tape_id=f"sha256:{n}", states=states(None, 2, 2)) for n in (1, 2, 3)]
    for n in (1, 2, 3):
        for arm in plan().contract.arms:
            fixed = (arm, n) in {("rewind+hint", 1), ("rewind+hint", 2), ("rewind", 1)}
            spent = tokens(200 if arm.startswith("rewind") else 100)
            runs.append(run(key(n, 0, arm), "fixed" if fixed else "failed", tokens=spent))
    return runs


def receipt() -> Receipt:
    return make_receipt(plan(), three_failures())


def test_each_arm_is_counted_over_the_kept_failures() -> None:
    arms = {arm.arm: arm for arm in receipt().arms}
    assert (arms["rewind+hint"].all.fixed, arms["rewind+hint"].all.runs) == (2, 3)
    assert (arms["start-over"].all.fixed, arms["start-over"].all.runs) == (0, 3)
    assert arms["rewind+hint"].all.wilson.low == pytest.approx(0.20765, abs=1e-4)
    assert receipt().complete


def test_tokens_of_runs_that_fixed_nothing_count_for_a_fix() -> None:
    arms = {arm.arm: arm for arm in receipt().arms}
    assert arms["rewind+hint"].tokens_per_run == 200
    assert arms["rewind+hint"].tokens_per_fix == 300
    assert arms["rewind"].tokens_per_fix == 600
    assert arms["start-over"].tokens_per_fix is None


def test_each_task_is_counted_too() -> None:
    by_task = receipt().arms[0].by_task
    assert {task: (one.fixed, one.runs) for task, one in by_task.items()} == {
        "sums/1": (1, 1),
        "sums/2": (1, 1),
        "sums/3": (0, 1),
    }


def test_arms_are_compared_pair_by_pair() -> None:
    first, *_, last = receipt().comparisons
    assert (first.first, first.second) == ("rewind+hint", "start-over+hint")
    assert (first.both, first.only_first, first.only_second, first.neither) == (0, 2, 0, 1)
    assert first.mcnemar == 0.5
    assert first.tasks == 3
    assert first.sign_flip == 0.5
    assert first.tokens_wilcoxon == 0.25
    assert first.per_fix_ratio is None
    assert (last.first, last.second) == ("rewind+hint", "history+hint")
    both = next(one for one in receipt().comparisons if one.second == "rewind")
    assert both.per_fix_ratio == 0.5
    assert both.mcnemar_holm >= both.mcnemar


def test_the_split_is_by_whether_a_check_had_run_in_the_first_run() -> None:
    runs = three_failures()
    runs[0] = run(key(1), checked=False, states=states(None, None))
    arms = {arm.arm: arm for arm in make_receipt(plan(), runs).arms}
    assert (arms["rewind+hint"].unchecked.fixed, arms["rewind+hint"].unchecked.runs) == (1, 1)
    assert (arms["rewind+hint"].checked.fixed, arms["rewind+hint"].checked.runs) == (1, 2)


def test_broken_and_cheating_runs_are_not_fixed_and_are_shown() -> None:
    runs = three_failures()
    runs = [
        run(one.key, "broken", why="status 500")
        if one.key == key(3, 0, "rewind+hint")
        else run(one.key, "cheated")
        if one.key == key(1, 0, "rewind+hint")
        else one
        for one in runs
    ]
    arm = make_receipt(plan(), runs).arms[0]
    assert (arm.all.fixed, arm.all.runs, arm.cheated, arm.broken) == (1, 3, 1, 1)
    assert (arm.unbroken.fixed, arm.unbroken.runs) == (1, 2)


def test_first_runs_are_counted_up_to_the_last_kept_failure() -> None:
    outcomes = ("fixed", "failed", "broken", "failed", "cheated", "failed")
    runs = [run(one, outcome) for one, outcome in zip(plan().firsts(), outcomes, strict=True)]
    firsts = make_receipt(plan(), runs).firsts
    assert (firsts.runs, firsts.fixed, firsts.failed) == (5, 1, 2)
    assert (firsts.cheated, firsts.broken, firsts.kept, firsts.beyond) == (1, 1, 3, 1)


def test_a_receipt_without_all_runs_says_so() -> None:
    part = make_receipt(plan(), three_failures()[:-1])
    assert not part.complete
    assert [arm.missing for arm in part.arms] == [0, 0, 0, 0, 1]
    assert not make_receipt(plan(), three_failures()[:2]).complete
    assert make_receipt(plan(), []).model == "No model has answered yet."


def test_states_are_described_over_all_runs() -> None:
    some = [
        State(pause=n, tool="think", size=n * 1000, stored=n * 10, turn=n, errors=None)
        for n in range(1, 11)
    ]
    told = make_receipt(plan(), [run(key(1), states=some, checked=False)])
    assert (told.states.median, told.states.p95, told.states.total) == (5000, 10000, 55000)
    assert (told.stored.median, told.stored.p95) == (50, 100)
    assert (told.stored_unchecked.count, told.stored_checked.count) == (10, 0)


def test_a_check_at_fault_is_counted() -> None:
    runs = [run(key(1), mismatch="only the kept one said 2 errors")]
    assert make_receipt(plan(), runs).mismatches == 1


def test_the_order_in_which_runs_ended_makes_no_difference() -> None:
    assert make_receipt(plan(), three_failures()[::-1]) == receipt()


def test_a_real_model_is_named_as_it_named_itself() -> None:
    runs = [run(one.key, one.outcome, models=["small-1"]) for one in three_failures()]
    told = make_receipt(plan(), runs)
    assert not told.simulated
    assert told.model.startswith("Real model: small-1, as its service named itself")
    mixed = make_receipt(plan(), [*runs[1:], three_failures()[0]])
    assert mixed.simulated
    assert mixed.model.startswith("Simulated model: simulated-1 (and small-1)")


def test_the_published_schema_is_that_of_the_receipt() -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    assert published == json.loads(json.dumps(schema())), (
        f"it changed: write rerail.experiment.receipt.schema() to {PUBLISHED.name}"
    )
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(json.loads(to_json(receipt())), published)
