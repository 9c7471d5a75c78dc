"""What a replay shows about a recorded failure, told from reports."""

from typing import Any

import pytest

from rerail.testing.verdicts import Expect, judge


def unused(exchange: int, step: int | None = None, **more: Any) -> dict[str, Any]:
    recording = {"exchange": exchange, "event": exchange * 10, "step": step, "lane": ""}
    return {"recording": recording | more, "side_call": more.get("side_call", "")}


def report(*left: dict[str, Any], status: int = 0, then: int = 1) -> dict[str, Any]:
    divergence = {"text": "messages[6] differs"} if left else None
    return {
        "verdict": {"green": not left and status == then, "reasons": [{"text": "it is not"}]},
        "ended": {"status": status},
        "recorded_end": {"status": then},
        "unused": list(left),
        "divergence": divergence,
    }


@pytest.mark.parametrize(
    ("found", "at", "avoids", "reproduces", "says"),
    [
        (report(unused(5, 3), unused(6)), "s3", True, False, "s3 was not asked again"),
        (report(unused(6)), "r6", True, False, "r6 was not asked again: messages[6] differs"),
        (report(), "r6", False, True, "r6 was asked again as recorded"),
        (report(unused(7, 4)), "r6", False, True, "r6 was asked again"),
        (report(unused(1, 1), unused(6)), "r6", False, False, "left the tape before that, at r1"),
        (report(unused(2, lane="title"), unused(6)), "r6", True, False, "r6 was not asked again"),
        (report(unused(2, side_call="x"), unused(6)), "r6", True, False, "r6 was not asked again"),
        (report(status=0, then=1), "end", True, False, "ended with 0, and the recorded one with 1"),
        (report(status=1, then=1), "end", False, True, "ended with 1, as recorded"),
        (report(unused(3), status=0, then=1), "end", False, False, "left the tape"),
    ],
)
def test_what_is_shown(
    found: dict[str, Any], at: str, avoids: bool, reproduces: bool, says: str
) -> None:
    assert bool(judge(found, "avoid", at)) == avoids
    assert bool(judge(found, "reproduce", at)) == reproduces
    assert says in repr(judge(found, "avoid", at))


@pytest.mark.parametrize(("found", "holds"), [(report(then=0), True), (report(unused(1)), False)])
def test_a_run_that_is_followed(found: dict[str, Any], holds: bool) -> None:
    expect: Expect = "follow"
    assert bool(judge(found, expect)) == holds
