"""When a replay is green."""

from dataclasses import replace

import pytest

from rerail.playback.report import Containment, End
from rerail.playback.verdict import Facts, judge

GREEN = Facts(
    recorded=5,
    recorded_model_calls=3,
    matched=5,
    matched_model_calls=3,
    refused=(),
    followed=(),
    live=(),
    unused_steps=(),
    unused_aside=(),
    unused_exchanges=(),
    ended=End(status=0),
    recorded_end=End(status=0),
    containment=Containment(level="no network", missing=["file system"]),
)
PLAIN = replace(GREEN, recorded=2, recorded_model_calls=0, matched=2, matched_model_calls=0)

NOT_GREEN = [
    (
        replace(GREEN, unused_aside=(2,)),
        "unused_model_calls",
        "1 recorded model call never came: r2",
    ),
    (
        replace(GREEN, unused_steps=(4, 5), unused_aside=(2,)),
        "unused_model_calls",
        "3 recorded model calls never came: s4, s5, r2",
    ),
    (
        replace(GREEN, refused=(3,)),
        "refused",
        "1 request was refused: r3",
    ),
    (
        replace(GREEN, refused=(3, 4, 5, 6, 7, 8)),
        "refused",
        "6 requests were refused: r3, r4, r5, r6, r7 …",
    ),
    (
        replace(GREEN, followed=(4,)),
        "followed",
        "1 request got the nearest recorded reply instead of their own: r4",
    ),
    (
        replace(GREEN, live=(4, 5)),
        "went_live",
        "2 requests went to the live service: r4, r5",
    ),
    (
        replace(GREEN, matched=2, matched_model_calls=0),
        "no_model_call_matched",
        "no model call was matched; the tape holds 3 model calls",
    ),
    (
        replace(GREEN, matched=0, matched_model_calls=0),
        "nothing_matched",
        "nothing was matched: the command asked for nothing that is on the tape",
    ),
    (
        replace(PLAIN, recorded=0, matched=0),
        "nothing_matched",
        "the tape holds no request that could have been matched",
    ),
    (
        replace(GREEN, unused_steps=(2, 3)),
        "unused_model_calls",
        "2 recorded model calls never came: s2, s3",
    ),
    (
        replace(PLAIN, unused_exchanges=(7,)),
        "unused_requests",
        "1 recorded request never came: r7",
    ),
    (
        replace(GREEN, ended=End(status=1)),
        "ended_otherwise",
        "the command ended with status 1, recorded with status 0",
    ),
    (
        replace(GREEN, recorded_end=End(status=143, signal=15), ended=End(status=143)),
        "ended_otherwise",
        "the command ended with status 143, recorded with SIGTERM",
    ),
    (
        replace(GREEN, ended=End(status=128 + 99, signal=99)),
        "ended_otherwise",
        "the command ended with signal 99, recorded with status 0",
    ),
    (
        replace(GREEN, recorded_end=None),
        "no_recorded_end",
        "the tape does not say how the command ended, so its end cannot be compared",
    ),
    (
        replace(GREEN, containment=Containment(level="not contained", missing=["unix sockets"])),
        "not_contained",
        "the command was not cut off from the network: unix sockets",
    ),
]


@pytest.mark.parametrize(
    "facts",
    [
        GREEN,
        PLAIN,
        replace(GREEN, unused_exchanges=(4, 5)),
        replace(GREEN, containment=Containment(level="contained")),
        replace(GREEN, ended=End(status=3), recorded_end=End(status=3)),
    ],
)
def test_a_replay_that_followed_to_the_end_is_green(facts: Facts) -> None:
    verdict = judge(facts)
    assert verdict.green
    assert verdict.reasons == []


@pytest.mark.parametrize(("facts", "code", "text"), NOT_GREEN, ids=[row[2] for row in NOT_GREEN])
def test_each_reason_alone_is_enough_and_is_a_sentence(facts: Facts, code: str, text: str) -> None:
    verdict = judge(facts)
    assert not verdict.green
    assert [(reason.code, reason.text) for reason in verdict.reasons] == [(code, text)]


def test_all_reasons_are_told() -> None:
    facts = replace(
        GREEN,
        refused=(1,),
        matched=0,
        matched_model_calls=0,
        unused_steps=(1, 2, 3),
        ended=End(status=1),
        containment=Containment(level="not contained"),
    )
    assert [reason.code for reason in judge(facts).reasons] == [
        "refused",
        "nothing_matched",
        "unused_model_calls",
        "ended_otherwise",
        "not_contained",
    ]
