"""`rerail run`, as far as no task is needed for it."""

import signal
from collections.abc import Callable
from typing import Any


def test_a_run_needs_a_contract(rerail: Callable[..., Any]) -> None:
    rerail("run").assert_complaint(2, "there is no contract", "task.yaml")


def test_what_a_signal_does_is_as_before(rerail: Callable[..., Any]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    rerail("run")
    assert signal.getsignal(signal.SIGTERM) is before
