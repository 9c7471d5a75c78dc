"""What a linked test comes to, by pytest's own account of it."""

import pytest

from rerail.cli.trace.linked import outcome_of
from rerail.trace.check import TestOutcome

FAILURE = "<failure>assert</failure>"


def told(*cases: str) -> str:
    inside = "".join(f"<testcase>{case}</testcase>" for case in cases)
    return f"<testsuites><testsuite>{inside}</testsuite></testsuites>"


def shown(value: str) -> str:
    return f'<properties><property name="rerail" value="{value}"/></properties>'


@pytest.mark.parametrize(
    ("account", "failed", "outcome"),
    [
        (told(""), False, "passed"),
        (told(FAILURE), True, "failed"),
        (told(shown("avoided")), False, "passed"),
        (told(shown("again") + FAILURE), True, "failed"),
        (told(shown("again")), False, "failed"),  # a test that it reproduces it
        (told(shown("nothing") + FAILURE), True, "shows nothing"),
        (told(shown("avoided") + FAILURE), True, "shows nothing"),
        (told(shown("avoided"), FAILURE), True, "shows nothing"),
        (told("<error>the tape could not be replayed</error>"), True, "not run"),
        (told("<skipped/>"), False, "not run"),
        (told(), False, "not run"),
    ],
)
def test_the_outcome(account: str, failed: bool, outcome: TestOutcome) -> None:
    assert outcome_of(account, failed=failed) == outcome
