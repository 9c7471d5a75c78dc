"""What a replay shows about a recorded failure, told from reports."""

from functools import partial
from typing import Any

import pytest

from rerail.testing.verdicts import Expect, Words, judge


def use(exchange: int, how: str = "not asked", **more: Any) -> dict[str, Any]:
    """A recorded request; `came` and `left` are model calls in it."""
    nothing: dict[str, Any] = {"came": [], "left": [], "lane": "", "side_call": ""}
    return {"exchange": exchange, "event": exchange * 10, "how": how} | nothing | more


def report(
    *uses: dict[str, Any],
    status: int = 0,
    then: int | None = 1,
    diverged: bool = True,
    signal: int = 0,
) -> dict[str, Any]:
    left = any(one["how"] != "asked" or one["left"] for one in uses)
    return {
        "verdict": {"green": not left and status == then, "reasons": [{"text": "it is not"}]},
        "ended": {"status": status, "signal": signal},
        "recorded_end": None if then is None else {"status": then},
        "uses": list(uses),
        "divergence": {"text": "messages[6] differs"} if left and diverged else None,
    }


CAME = use(1, "asked", came=[1])
SESSION = use(2, "asked", came=[2, 3], left=[4, 5])
ended = partial(report, diverged=False)


@pytest.mark.parametrize(
    ("found", "at", "again", "says"),
    [
        (report(CAME, use(5, left=[3]), use(6)), "s3", False, "s3 was not asked again"),
        (report(CAME, use(6)), "r6", False, "r6 was not asked again: messages[6] differs"),
        (report(CAME, use(6, "asked")), "r6", True, "r6 was asked again as recorded"),
        (report(use(6, "asked"), use(7, left=[4])), "r6", True, "r6 was asked again"),
        (report(use(1, left=[1]), use(6)), "r6", None, "left the tape before that, at r1"),
        (report(CAME, use(2, lane="title"), use(6)), "r6", False, "r6 was not asked again"),
        (report(CAME, use(2, side_call="x"), use(6)), "r6", False, "r6 was not asked again"),
        (report(CAME, use(6, "otherwise")), "r6", False, "r6 was not asked again: messages[6]"),
        (ended(CAME, use(6, "otherwise")), "r6", None, "the recorded reply to r6 could not be"),
        # Not on the tape, or of nobody who asks.
        (report(CAME), "r99", None, "there is no r99 on the tape"),
        (report(CAME), "s99", None, "there is no s99 on the tape"),
        (report(CAME, use(6, "by a child")), "r6", None, "r6 is of a child that was given back"),
        # Calls beside the main ones are places too.
        (report(CAME, use(6, lane="title")), "r6", False, "r6 was not asked again"),
        (report(CAME, use(6, side_call="x")), "r6", False, "r6 was not asked again"),
        (report(CAME, use(6, "asked", side_call="x")), "r6", True, "r6 was asked again"),
        # In the middle of a session.
        (report(CAME, SESSION), "s3", True, "s3 was asked again as recorded"),
        (report(CAME, SESSION), "s4", False, "s4 was not asked again"),
        (report(CAME, SESSION), "s5", None, "left the tape before that, at r2"),
        # Nothing else was asked instead.
        (ended(use(1), status=1), "r1", None, "ended with 1 before r1, and nothing recorded"),
        (ended(use(1, "asked", side_call="x"), use(2), status=1), "r2", None, "nothing recorded"),
        (ended(use(1), status=0), "r1", False, "the command ended with 0 before r1"),
        (ended(CAME, use(2), status=1), "r2", False, "the command ended with 1 before r2"),
        (ended(use(1, "by a child"), use(2), status=1), "r2", False, "ended with 1 before r2"),
        (ended(CAME, use(2), status=139, signal=11), "r2", None, "before r2, by signal 11"),
        # The end.
        (report(CAME, status=0, then=1), "end", False, "ended with 0, and the recorded one with 1"),
        (report(CAME, status=1, then=1), "end", True, "ended with 1, as recorded"),
        (report(CAME, use(3), status=0, then=1), "end", None, "left the tape"),
        (report(status=1, then=3), "end", None, "nothing recorded was asked"),
        (report(status=0, then=3), "end", False, "ended with 0"),
        (report(CAME, status=1, then=None), "end", None, "does not say how the recorded one did"),
        (report(CAME, status=0, then=None), "end", False, "does not say how the recorded one did"),
    ],
)
def test_what_is_shown(found: dict[str, Any], at: str, again: bool | None, says: str) -> None:
    assert bool(judge(found, "avoid", at)) == (again is False)
    assert bool(judge(found, "reproduce", at)) == (again is True)
    assert judge(found, "avoid", at).again == again
    assert says in repr(judge(found, "avoid", at))


@pytest.mark.parametrize(("found", "holds"), [(report(then=0), True), (report(use(1)), False)])
def test_a_run_that_is_followed(found: dict[str, Any], holds: bool) -> None:
    expect: Expect = "follow"
    assert bool(judge(found, expect)) == holds


TRACEBACK = "Traceback (most recent call last):\n  File \"agent.py\", line 9\nKeyError: 'x'\n"


@pytest.mark.parametrize(
    ("words", "status", "again"),
    [
        (Words(TRACEBACK), 1, None),
        (Words(TRACEBACK), 0, False),
        (Words("thread 'main' panicked at src/main.rs:3:5"), 101, None),
        (Words("TypeError: x\n    at main\n\nNode.js v22.1.0\n"), 1, None),
        (Words("refused: not under this customer\n"), 1, False),
        (Words(f"{TRACEBACK}Refused: not this customer", "Refused: "), 1, False),
        (Words(TRACEBACK, "Refused: "), 1, None),
        (Words("bye", "Refused: "), 0, None),
    ],
)
def test_a_crash_before_the_place_is_no_refusal(
    words: Words, status: int, again: bool | None
) -> None:
    found = ended(CAME, use(2), status=status)
    assert judge(found, "avoid", "r2", words).again == again


def test_what_was_asked_instead_needs_no_word() -> None:
    assert judge(report(CAME, use(6)), "avoid", "r6", Words(TRACEBACK)).again is False
