"""Which recorded request a request is, and why it is none."""

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rerail.compare.canon import Request
from rerail.compare.match import Matcher
from rerail.compare.misses import Miss, explain
from rerail.compare.recorded import Match
from rerail.compare.volatile import Rules


def found(outcome: Match | Miss) -> Match:
    assert isinstance(outcome, Match), explain(outcome)
    return outcome


def missed(outcome: Match | Miss) -> Miss:
    assert isinstance(outcome, Miss)
    return outcome


def ids(matcher: Matcher, *asked: Request) -> list[int]:
    return [found(matcher.match(request)).recorded.exchange_id for request in asked]


def test_the_same_requests_are_served_in_recorded_order(make: SimpleNamespace) -> None:
    turns = [make.request({"messages": list(range(number))}) for number in range(5)]
    matcher = make.matcher(*turns)
    outcomes = [found(matcher.match(turn)) for turn in turns]
    assert [outcome.recorded.exchange_id for outcome in outcomes] == [1, 2, 3, 4, 5]
    assert {outcome.verdict for outcome in outcomes} == {"exact"}
    assert {outcome.rules for outcome in outcomes} == {()}
    assert matcher.unused() == []


def test_identical_requests_are_served_once_each_in_order(make: SimpleNamespace) -> None:
    matcher = make.matcher(*[make.request({"a": 1})] * 3)
    assert ids(matcher, *[make.request({"a": 1})] * 3) == [1, 2, 3]
    miss = missed(matcher.match(make.request({"a": 1})))
    assert miss.kind == "used_up"
    assert miss.recorded == (1, 2, 3)
    assert explain(miss) == (
        "the recording has this request 3 times (r1, r2, r3), and all are used up"
    )


def test_twenty_identical_requests_in_parallel_are_bound_by_arrival(make: SimpleNamespace) -> None:
    asked = make.request({"a": 1})
    items = [make.recorded(n, asked, started=n, ended=100 + n) for n in range(1, 21)]
    matcher = Matcher(items, Rules())
    outcomes = [found(matcher.match(asked)) for _ in range(20)]
    assert [outcome.recorded.exchange_id for outcome in outcomes] == list(range(1, 21))
    assert all(outcome.by_arrival for outcome in outcomes)
    assert all(outcome.passed_over is None for outcome in outcomes)


def test_equal_requests_one_after_the_other_are_not_bound_by_arrival(make: SimpleNamespace) -> None:
    matcher = make.matcher(*[make.request({"a": 1})] * 2)
    assert not found(matcher.match(make.request({"a": 1}))).by_arrival


def test_twenty_different_requests_in_parallel_each_get_their_own(make: SimpleNamespace) -> None:
    asked = [make.request({"question": number}) for number in range(20)]
    items = [make.recorded(n, item, started=n, ended=100) for n, item in enumerate(asked, start=1)]
    matcher = Matcher(items, Rules())
    for number in reversed(range(20)):
        outcome = found(matcher.match(asked[number]))
        assert outcome.recorded.exchange_id == number + 1
        assert outcome.passed_over is None
    assert matcher.unused() == []


def test_another_order_is_noted_and_served(make: SimpleNamespace) -> None:
    first, second = make.request({"a": 1}), make.request({"a": 2})
    matcher = make.matcher(first, second)
    outcome = found(matcher.match(second))
    assert (outcome.recorded.exchange_id, outcome.passed_over) == (2, 1)
    assert found(matcher.match(first)).passed_over is None


def test_another_order_between_endpoints_is_not_noted(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request(target="/a"), make.request(target="/b"))
    assert found(matcher.match(make.request(target="/b"))).passed_over is None


def test_equal_requests_go_to_their_own_process_first(make: SimpleNamespace) -> None:
    matcher = make.matcher(
        make.request({"a": 1}, process_id=1),
        make.request({"a": 1}, process_id=2),
        make.request({"a": 1}, process_id=1),
    )
    assert ids(matcher, make.request({"a": 1}, process_id=2)) == [2]
    assert ids(matcher, make.request({"a": 1}, process_id=7)) == [1]
    assert ids(matcher, make.request({"a": 1}, process_id=1)) == [3]


def test_permuted_keys_are_equivalent_and_say_so(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request(b'{"a": 1, "b": 2}'))
    outcome = found(matcher.match(make.request(b'{"b":2,"a":1}')))
    assert (outcome.verdict, outcome.rules) == ("equivalent", ("json spelling",))


def test_a_query_in_another_order_is_equivalent(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request(target="/a?x=1&y=2"))
    outcome = found(matcher.match(make.request(target="/a?y=2&x=1")))
    assert (outcome.verdict, outcome.rules) == ("equivalent", ("query order",))


def test_the_same_bytes_win_over_the_same_value(make: SimpleNamespace) -> None:
    spaced, tight = make.request(b'{"a": 1}'), make.request(b'{"a":1}')
    matcher = make.matcher(spaced, tight)
    assert ids(matcher, tight, spaced) == [2, 1]


def test_every_body_spelled_anew_is_still_served_in_order(make: SimpleNamespace) -> None:
    bodies = [{"messages": list(range(number)), "model": "m"} for number in range(30)]
    matcher = make.matcher(*[make.request(body) for body in bodies])
    asked = [make.request(json.dumps(body, indent=2).encode()) for body in bodies]
    assert ids(matcher, *asked) == list(range(1, 31))


def test_a_volatile_field_is_equivalent_under_its_rule(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"prompt_cache_key": "agents-sdk:run:00", "a": 1}))
    outcome = found(matcher.match(make.request({"prompt_cache_key": "agents-sdk:run:ff", "a": 1})))
    assert (outcome.verdict, outcome.rules) == ("equivalent", ("openai-agents cache key",))


def test_an_exact_request_read_earlier_wins_over_one_under_a_rule(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"id": 1}), make.request({"id": 2}), ignore=["id"])
    while matcher.read_ahead():
        pass
    outcome = found(matcher.match(make.request(b'{"id":2}')))
    assert (outcome.recorded.exchange_id, outcome.rules) == (2, ("json spelling",))
    outcome = found(matcher.match(make.request({"id": 3})))
    assert (outcome.recorded.exchange_id, outcome.rules) == (1, ("ignored id",))


def test_a_redacted_value_is_a_wildcard_that_must_stay_the_same(make: SimpleNamespace) -> None:
    def asked(reference: str, number: int) -> Request:
        return make.request(target=f"/a?key=⟦redacted:key:{reference}⟧&n={number}", method="GET")

    matcher = make.matcher(asked("aa", 1), asked("aa", 2), asked("bb", 3), asked("aa", 4))
    outcome = found(matcher.match(asked("11", 1)))
    assert (outcome.verdict, outcome.rules) == ("equivalent", ("redacted",))
    assert missed(matcher.match(asked("22", 2))).kind == "different"
    assert missed(matcher.match(asked("11", 3))).kind == "different"
    assert ids(matcher, asked("11", 2), asked("22", 3), asked("11", 4)) == [2, 3, 4]


def test_a_redacted_value_in_a_body_is_one_too(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"k": "⟦redacted:key:aa⟧"}))
    outcome = found(matcher.match(make.request({"k": "⟦redacted:key:bb⟧"})))
    assert outcome.rules == ("redacted",)


def test_a_body_too_large_to_hold_matches_by_its_digest(make: SimpleNamespace) -> None:
    large = replace(make.request(b"x" * 1000), body=None)
    matcher = make.matcher(large)
    assert ids(matcher, large) == [1]


def test_a_different_body_names_the_field_and_the_nearest(make: SimpleNamespace) -> None:
    history = [{"role": "user", "content": f"message {number}"} for number in range(10)]
    turns = [make.request({"messages": history[: 2 * number + 1]}) for number in range(5)]
    matcher = make.matcher(*turns)
    assert ids(matcher, turns[0], turns[1]) == [1, 2]
    changed = [*history[:4], {"role": "user", "content": "message four"}]
    miss = missed(matcher.match(make.request({"messages": changed})))
    assert miss.kind == "different"
    assert miss.field == "messages[4].content"
    assert miss.nearest is not None
    assert miss.nearest.exchange_id == 3
    assert [(word.recorded, word.now) for word in miss.differences[0].words] == [("4", "four")]
    assert explain(miss) == "messages[4].content differs from the nearest recorded request, r3"


def test_a_request_past_the_end_of_its_endpoint_is_extra(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1}))
    assert ids(matcher, make.request({"a": 1})) == [1]
    miss = missed(matcher.match(make.request({"a": 2})))
    assert miss.kind == "extra"
    assert explain(miss) == (
        "the one recorded request to POST https://api.openai.com/v1/chat/completions is used up; "
        "the nearest was r1"
    )


def test_an_endpoint_that_is_not_in_the_recording_was_never_asked(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1}))
    miss = missed(matcher.match(make.request(method="GET", target="/v1/files?x=1")))
    assert miss.kind == "never_asked"
    assert explain(miss) == (
        "the recording has no request to GET https://api.openai.com/v1/files; its host was asked "
        "POST https://api.openai.com/v1/chat/completions"
    )


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/openai/chat/completions?x=1"])
def test_the_same_asked_of_another_host_is_said(make: SimpleNamespace, target: str) -> None:
    """Nearly always a base URL that is not set as it was."""
    matcher = make.matcher(make.request({"a": 1}))
    miss = missed(matcher.match(make.request({"a": 1}, host="localhost", target=target)))
    assert explain(miss) == (
        f"the recording has no request to POST https://localhost{target.partition('?')[0]}, "
        "but to https://api.openai.com/v1/chat/completions: "
        "is the base URL set as it was then (`-e`)?"
    )


@pytest.mark.parametrize("target", ["/v1/completions", "/completions", "/v1/chat/"])
def test_another_path_at_another_host_is_not(make: SimpleNamespace, target: str) -> None:
    matcher = make.matcher(make.request({"a": 1}))
    miss = missed(matcher.match(make.request({"a": 1}, host="localhost", target=target)))
    assert explain(miss).endswith(f"POST https://localhost{target}")


def test_another_identifier_in_a_path_is_a_difference_of_the_path(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request(method="GET", target="/orders/1841", body=b""))
    miss = missed(matcher.match(make.request(method="GET", target="/orders/77", body=b"")))
    assert (miss.kind, miss.field) == ("different", "path")


def test_a_used_request_in_another_spelling_is_used_up(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1}), make.request({"a": 2}))
    assert ids(matcher, make.request({"a": 1})) == [1]
    miss = missed(matcher.match(make.request(b'{"a":1}')))
    assert (miss.kind, miss.recorded) == ("used_up", (1,))


def test_nothing_alike_is_ever_served(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1.0}))
    assert missed(matcher.match(make.request({"a": 1}))).kind == "different"
    assert len(matcher.unused()) == 1


def test_a_side_call_takes_the_next_of_its_endpoint_and_then_the_last_again(
    make: SimpleNamespace,
) -> None:
    matcher = make.matcher(make.request({"a": 1}), make.request({"a": 2}))
    numbers = []
    for number in range(3):
        match = matcher.match_endpoint(make.request({"other": number}))
        assert match is not None
        numbers.append(match.recorded.exchange_id)
    assert numbers == [1, 2, 2]
    assert matcher.match_endpoint(make.request(target="/elsewhere")) is None


def test_looking_ahead_uses_nothing(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1}), make.request(target="/b"))
    ahead = matcher.next_with_head(replace(make.request(), body=b""))
    assert ahead is not None
    assert ahead.exchange_id == 1
    assert matcher.next_with_head(make.request(headers=[])) is None
    first = matcher.next_from("api.openai.com", 443)
    assert first is not None
    assert first.exchange_id == 1
    assert matcher.next_from("elsewhere.example", 443) is None
    assert len(matcher.unused()) == 2


def test_taking_counts_as_used_once(make: SimpleNamespace) -> None:
    matcher = make.matcher(make.request({"a": 1}), make.request({"a": 2}))
    matcher.take(1)
    matcher.take(1)
    assert [recorded.exchange_id for recorded in matcher.unused()] == [2]
    assert missed(matcher.match(make.request({"a": 1}))).kind == "used_up"


@pytest.mark.parametrize("count", [0, 1])
def test_reading_ahead_ends(make: SimpleNamespace, count: int) -> None:
    matcher = make.matcher(*[make.request({"a": 1})] * count)
    assert [matcher.read_ahead() for _ in range(count + 1)] == [True] * count + [False]
