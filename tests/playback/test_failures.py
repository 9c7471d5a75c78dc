"""Failed connections, met in their place."""

from collections.abc import Callable
from typing import Any

from rerail.playback.failures import Failures
from rerail.playback.script import Script

HOST = ("api.openai.com", 443)


def test_failures_are_met_once_each_where_the_origin_was_reached_later(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    maker.unreachable()
    maker.unreachable()
    maker.call({"a": 1})
    script = Script(maker.finish())
    event = script.exchanges[1].event
    failures = Failures(script)
    met = [failures.met(*HOST, event) for _ in range(3)]
    assert [bool(failure) for failure, _ in met] == [True, True, False]
    assert failures.met(*HOST, None) == (None, False)


def test_a_failure_after_the_last_request_is_met_again_and_again(
    tape_maker: Callable[[], Any],
) -> None:
    maker = tape_maker()
    maker.call({"a": 1})
    maker.unreachable()
    script = Script(maker.finish())
    failures = Failures(script)
    assert failures.met(*HOST, script.exchanges[1].event) == (None, False)
    first, second = failures.met(*HOST, None), failures.met(*HOST, None)
    assert first[0] is second[0] is script.failures[0]
    assert (first[1], second[1]) == (False, True)
