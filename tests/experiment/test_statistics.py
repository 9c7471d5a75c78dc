"""The receipt's statistics are those of SciPy, and of the tables that were measured beforehand."""

import random
from collections.abc import Mapping
from fractions import Fraction

import pytest

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

stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle of these tests")


def close(interval: Interval, low: float, high: float) -> bool:
    return (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("trials", [1, 2, 5, 16, 20, 137, 1000])
def test_intervals_are_scipys(trials: int) -> None:
    for successes in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        test = stats.binomtest(successes, trials)
        assert close(wilson(successes, trials), *test.proportion_ci(method="wilson"))
        assert close(clopper_pearson(successes, trials), *test.proportion_ci(method="exact"))


def test_without_a_trial_nothing_is_known() -> None:
    assert wilson(0, 0) == clopper_pearson(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(12, 0, 0.00049), (13, 1, 0.0018), (14, 2, 0.0042), (6, 0, 0.031), (5, 0, 0.063)],
)
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int, expected: float) -> None:
    assert mcnemar(first, second) == pytest.approx(expected, rel=0.05)
    assert mcnemar(second, first) == mcnemar(first, second)
    oracle = stats.binomtest(first, first + second).pvalue
    assert mcnemar(first, second) == pytest.approx(oracle)


def test_pairs_that_agree_say_nothing() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(4, 4) == 1.0


def test_eight_tasks_can_reach_no_less_than_this() -> None:
    assert sign_flip([Fraction(1, 2)] * 8) == pytest.approx(2 / 2**8)


def test_signs_are_flipped_as_scipy_flips_them() -> None:
    chance = random.Random(4)
    differences = [Fraction(chance.randint(-3, 5), 4) for _ in range(9)]
    oracle = stats.permutation_test(
        ([float(value) for value in differences],), lambda x: sum(x), permutation_type="samples",
        n_resamples=float("inf"),
    )  # fmt: skip
    assert sign_flip(differences) == pytest.approx(oracle.pvalue)


def test_wilcoxon_is_scipys_where_there_are_no_ties() -> None:
    chance = random.Random(5)
    differences = [chance.uniform(-1, 2) for _ in range(15)]
    oracle = stats.wilcoxon(differences, method="exact")
    assert wilcoxon(differences) == pytest.approx(oracle.pvalue)


def test_wilcoxon_with_ties_is_exact_too() -> None:
    differences = [3, -1, 1, 0, 4, 4, -2, 5, 7]
    told = [value for value in differences if value]
    ranks = stats.rankdata([abs(value) for value in told])
    signed = [rank if value > 0 else -rank for rank, value in zip(ranks, told, strict=True)]
    oracle = stats.permutation_test(
        (signed,), lambda x: sum(x), permutation_type="samples", n_resamples=float("inf")
    )
    assert wilcoxon(differences) == pytest.approx(oracle.pvalue)


_CHANCE = random.Random(3)
TOKENS = {
    letter: (_CHANCE.randint(500, 1000), _CHANCE.randint(800, 1500)) for letter in "abcdefghijkl"
}


def ratio(counts: Mapping[str, int]) -> float | None:
    second = sum(TOKENS[unit][1] * count for unit, count in counts.items())
    return sum(TOKENS[unit][0] * count for unit, count in counts.items()) / second


def test_the_bootstrap_is_near_scipys_and_comes_out_the_same_again() -> None:
    ours = bootstrap(list(TOKENS), ratio, seed=1)
    assert ours is not None
    assert ours == bootstrap(list(TOKENS), ratio, seed=1)
    oracle = stats.bootstrap(
        ([first for first, _ in TOKENS.values()], [second for _, second in TOKENS.values()]),
        lambda first, second: sum(first) / sum(second),
        paired=True, vectorized=False, method="BCa", rng=7,
    ).confidence_interval  # fmt: skip
    assert ours.low == pytest.approx(oracle.low, abs=0.03)
    assert ours.high == pytest.approx(oracle.high, abs=0.03)


def test_a_bootstrap_of_what_is_undefined_is_none() -> None:
    assert bootstrap(list(TOKENS), lambda counts: None) is None
    assert bootstrap(["a", "b"], ratio) is None
    often = bootstrap(list(TOKENS), lambda counts: 1.0 if "a" in counts else None)
    assert often is None


def test_several_p_values_are_adjusted_as_holm_has_it() -> None:
    values = {"x": 0.01, "y": 0.04, "z": 0.03}
    assert holm(values) == pytest.approx({"x": 0.03, "y": 0.06, "z": 0.06})


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7], 0.95) == 7
    assert percentile(list(range(1, 101)), 0.95) == 95
    assert percentile([10, 30, 20], 0.5) == 20
