"""The command line itself: with nothing asked for they say what can be asked."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("group", [[], ["trace"], ["runs"], ["experiment"]])
def test_nothing_asked_for_is_answered_with_help(
    rerail: Callable[..., Any], group: list[str]
) -> None:
    done = rerail(*group)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"Usage: {' '.join(['rerail', *group])} [OPTIONS] COMMAND")
    assert "Show this message and exit." in done.err
    assert "hint:" not in done.err
