"""Medians, ratios of rounds, and goals."""

import pytest

from bench.figures import Goal, Rounds, Spread, paired_ratios, row


def test_a_spread_is_the_median_and_the_ends() -> None:
    assert Spread.of([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)


def test_there_is_no_median_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Spread.of([])


def test_a_ratio_is_taken_within_each_round() -> None:
    made = row("latency", "ms", rerail=[1.0, 10.0, 2.0], peer=[4.0, 40.0, 16.0])
    assert made.ratio == Spread(0.25, 0.125, 0.25)


def test_a_round_in_which_the_peer_added_nothing_has_no_ratio() -> None:
    assert paired_ratios([1.0, 1.0], [0.0, 2.0]) == [0.5]
    assert row("latency", "ms", rerail=[1.0], peer=[-0.1]).ratio is None


def test_rounds_of_unequal_number_are_not_paired() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_ratios([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("relation", "reached", "met"),
    [
        ("at most", 0.2, True),
        ("at most", 0.21, False),
        ("at least", 7, True),
        ("at least", 6, False),
    ],
)
def test_a_goal_includes_its_bound(relation: str, reached: float, met: bool) -> None:
    bound = 0.2 if relation == "at most" else 7
    assert Goal("ratio", relation, bound).met(reached) is met  # type: ignore[arg-type]


def test_a_goal_for_the_ratio_stays_open_without_a_peer() -> None:
    goal = Goal("ratio", "at most", 0.25)
    assert row("start-up", "ms", rerail=[100.0], goal=goal).reached is None
    assert row("start-up", "ms", rerail=[100.0], peer=[800.0], goal=goal).reached is True


def test_a_goal_for_the_value_needs_no_peer() -> None:
    goal = Goal("value", "at most", 150)
    assert row("memory", "MB", rerail=[90.0, 200.0, 210.0], goal=goal).reached is False
    assert row("memory", "MB", rerail=[], goal=goal).reached is None


def test_what_is_added_is_taken_within_each_round() -> None:
    rounds = Rounds(2)
    for direct, through in ((1.0, 3.0), (2.0, 7.0)):
        rounds.add(("direct",), {"ms": direct})
        rounds.add(("rerail",), {"ms": through})
    assert rounds.added(("rerail",), ("direct",), "ms") == [2.0, 5.0]


def test_who_missed_a_round_has_no_values() -> None:
    rounds = Rounds(2)
    rounds.add(("peer",), {"ms": 1.0})
    assert rounds.values(("peer",), "ms") == []
    rounds.add(("peer",), {"ms": None})
    assert rounds.values(("peer",), "ms") == []
    assert rounds.values(("nobody",), "ms") == []
