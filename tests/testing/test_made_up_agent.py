"""The made-up agent."""

import json
from itertools import pairwise

from rerail.testing.made_up_agent import limit, turns


def test_it_says_the_same_every_time() -> None:
    assert list(turns(3)) == list(turns(3))
    assert list(turns(3)) != list(turns(3, seed=1))


def test_its_history_grows_by_about_two_kilobytes_a_turn() -> None:
    sizes = [len(turn.request_body) for turn in turns(20)]
    assert all(1800 < after - before < 2400 for before, after in pairwise(sizes))


def test_it_talks_as_a_chat_api_does() -> None:
    *_, turn = turns(3)
    request = json.loads(turn.request_body)
    assert len(request["tools"]) == 8
    assert [message["role"] for message in request["messages"][-2:]] == ["assistant", "tool"]
    events = [data for data, _ in turn.reply]
    assert len(events) == 31
    assert json.loads(events[0].removeprefix(b"data: "))["object"] == "chat.completion.chunk"
    assert events[-1] == b"data: [DONE]\n\n"
    times = [at for _, at in turn.reply]
    assert times == sorted(times)


def test_the_limit_is_far_below_what_crosses_the_wire() -> None:
    conversation = list(turns(10))
    assert limit(conversation) * 10 < sum(len(turn.request_body) for turn in conversation)
