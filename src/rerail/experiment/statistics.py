"""The statistics of a receipt, exact wherever that is possible. Knows numbers and nothing else.

Written with the standard library, so that a receipt can be recomputed anywhere; the tests compare
each with SciPy. Every test is two-sided.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, exp, fsum, inf, lgamma, log, sqrt
from statistics import NormalDist
from typing import Final

from msgspec import Struct

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 9_999

_NORMAL: Final = NormalDist()
_HALVINGS: Final = 100


class Interval(Struct, frozen=True):
    """Two bounds."""

    low: float
    high: float


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval for a proportion (Wilson 1927, JASA 22, 209).

    >>> wilson(15, 16).low > 0.71
    True
    """
    if not trials:
        return Interval(0.0, 1.0)
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    whole = 1 + z * z / trials
    low = 0.0 if not successes else (centre - spread) / whole
    high = 1.0 if successes == trials else (centre + spread) / whole
    return Interval(low, high)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval for a proportion (Clopper and Pearson 1934, Biometrika 26, 404)."""
    tail = (1 - confidence) / 2
    low, high = 0.0, 1.0
    if successes:
        low = _root(lambda p: _at_least(successes, trials, p) - tail)
    if successes < trials:
        high = _root(lambda p: tail - (1 - _at_least(successes + 1, trials, p)))
    return Interval(low, high)


def mcnemar(only_first: int, only_second: int) -> float:
    """McNemar's exact test on pairs of which only one succeeded: are both arms equally good?"""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    return min(1.0, 2 * _at_least(max(only_first, only_second), discordant, 0.5))


def sign_flip(differences: Sequence[Fraction | int]) -> float:
    """The exact test of paired differences whose signs are equally likely either way.

    The share of all ways to flip the signs whose sum is at least as far from 0 as the observed one
    (Fisher 1935, The Design of Experiments, section 21).
    """
    ways: Counter[Fraction] = Counter({Fraction(0): 1})
    for difference in differences:
        flipped: Counter[Fraction] = Counter()
        for total, count in ways.items():
            flipped[total + difference] += count
            flipped[total - difference] += count
        ways = flipped
    observed = abs(Fraction(sum(differences)))
    extreme = sum(count for total, count in ways.items() if abs(total) >= observed)
    return float(Fraction(extreme, ways.total()))


def wilcoxon(differences: Sequence[float]) -> float:
    """Wilcoxon's signed-rank test (1945, Biometrics 1, 80), exact, ties included; zeros left out.

    Given the ranks, it is the sign-flip test on them.
    """
    told = [difference for difference in differences if difference]
    ranks = _twice_the_ranks([abs(difference) for difference in told])
    return sign_flip([rank if d > 0 else -rank for rank, d in zip(ranks, told, strict=True)])


def bootstrap(
    units: Sequence[str],
    figure: Callable[[Mapping[str, int]], float | None],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """A BCa bootstrap interval (Efron 1987, JASA 82, 171) of a figure over resampled units.

    Args:
        units: What is drawn with replacement: tasks, because runs of one task are not independent.
        figure: The figure where each unit counts so often; None where it is not defined.
        seed: For the draws, so that the interval can be recomputed.
        resamples: How many draws.
        confidence: Of the interval.

    Returns:
        The interval; None where the figure is undefined in too many draws for it to mean anything.
    """
    whole = figure(Counter(units))
    left_out = [figure(Counter(u for u in units if u != unit)) for unit in units]
    if whole is None or len(units) < 3 or any(value is None for value in left_out):
        return None
    chance = random.Random(seed)  # noqa: S311 - draws that can be repeated
    drawn = [figure(Counter(chance.choices(units, k=len(units)))) for _ in range(resamples)]
    # Undefined is a division by no fix at all: larger than any number.
    values = sorted(inf if value is None else value for value in drawn)
    return _bca(values, whole, [value for value in left_out if value is not None], confidence)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """P values adjusted for being several (Holm 1979, Scandinavian Journal of Statistics 6, 65)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, value * (len(values) - place)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in values}


def percentile(values: Sequence[int], share: float) -> int | None:
    """The smallest value that at least such a share of the values does not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _at_least(successes: int, trials: int, chance: float) -> float:
    """How likely at least so many successes are."""
    if chance <= 0:
        return 1.0 if successes <= 0 else 0.0
    if chance >= 1:
        return 1.0 if successes <= trials else 0.0
    return fsum(_exactly(count, trials, chance) for count in range(successes, trials + 1))


def _exactly(successes: int, trials: int, chance: float) -> float:
    ways = lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
    return exp(ways + successes * log(chance) + (trials - successes) * log(1 - chance))


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _twice_the_ranks(values: Sequence[float]) -> list[int]:
    """Ranks from 1, equal values sharing the mean of theirs; doubled, so that they are whole."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, 1)))}
    count = Counter(ordered)
    return [2 * first[value] + count[value] - 1 for value in values]


def _bca(
    values: Sequence[float], whole: float, left_out: Sequence[float], confidence: float
) -> Interval | None:
    below = sum(value < whole for value in values) + sum(value == whole for value in values) / 2
    share = min(max(below / len(values), 1 / len(values)), 1 - 1 / len(values))
    bias = _NORMAL.inv_cdf(share)
    mean = fsum(left_out) / len(left_out)
    squares = fsum((mean - value) ** 2 for value in left_out)
    cubes = fsum((mean - value) ** 3 for value in left_out)
    speed = cubes / (6 * squares**1.5) if squares else 0.0

    def bound(probability: float) -> float:
        z = bias + _NORMAL.inv_cdf(probability)
        place = _NORMAL.cdf(bias + z / (1 - speed * z))
        return values[min(len(values) - 1, int(place * len(values)))]

    low, high = bound((1 - confidence) / 2), bound((1 + confidence) / 2)
    return None if inf in (low, high) else Interval(low, high)
