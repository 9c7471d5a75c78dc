"""Requests that are equal but for identifiers the client made up and facts of the machine."""

import json
import time
from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.alike import EXPLAINED, RENAMED, Likeness
from rerail.compare.canon import Request
from rerail.compare.facts import Facts
from rerail.compare.match import Matcher
from rerail.compare.misses import Miss, explain
from rerail.compare.recorded import Match, Recorded
from rerail.compare.volatile import Rules

A, B, C, D = (str(UUID(int=Random(n).getrandbits(128), version=4)) for n in range(4))
X, Y, Z = (str(UUID(int=Random(n).getrandbits(128), version=4)) for n in range(10, 13))


def matcher(
    items: Iterable[Recorded], facts: Facts | None = None, given: Iterable[str] = ()
) -> Matcher:
    rules = Rules()
    return Matcher(list(items), rules, Likeness(rules, facts, given))


def in_turn(make: SimpleNamespace, *asked: Request) -> list[Recorded]:
    return [make.recorded(number, item) for number, item in enumerate(asked, start=1)]


def answering(recorded: Recorded, *documents: bytes) -> Recorded:
    """The same with a reply."""
    return Recorded(
        recorded.exchange_id, recorded.request, recorded.load, recorded.started, recorded.ended,
        lambda: [(recorded.started, "origin", lambda: documents)],
    )  # fmt: skip


def found(outcome: Match | Miss) -> Match:
    assert isinstance(outcome, Match), explain(outcome)
    return outcome


def test_an_identifier_made_anew_is_renamed_counted_and_listed(make: SimpleNamespace) -> None:
    asked = [{"session": A, "turn": 1}, {"session": A, "turn": 2, "item": f"msg_{B}"}]
    it = matcher(in_turn(make, *map(make.request, asked)))
    first = found(it.match(make.request({"session": X, "turn": 1})))
    second = found(it.match(make.request({"session": X, "turn": 2, "item": f"msg_{Y}"})))
    assert [first.recorded.exchange_id, second.recorded.exchange_id] == [1, 2]
    assert (first.verdict, first.rules) == ("equivalent", (RENAMED,))
    assert EXPLAINED[RENAMED]
    assert it.likeness.renaming.renamed == {A: X, B: Y}
    assert it.likeness.used == {A: 2, B: 1}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda name: {"body": {"text": f"your session is {name}, keep it"}},
        lambda name: {"body": {"text": json.dumps({"id": name, "text": f"a\n{name}"})}},
        lambda name: {"target": f"/v1/threads/{name}/runs", "body": {}},
        lambda name: {"target": f"/v1/chat/completions?session={name}", "body": {}},
        lambda name: {"body": f"raw {name}".encode(), "headers": (("Content-Type", "text/plain"),)},
        lambda name: {"body": f"id={name}&b=1".encode(),
                      "headers": (("Content-Type", "application/x-www-form-urlencoded"),)},
        lambda name: {"body": {}, "headers": (("Content-Type", "application/json"),
                                              ("api-version", name))},
    ],
)  # fmt: skip
def test_identifiers_are_found_wherever_they_are_compared(make: SimpleNamespace, wrap) -> None:  # type: ignore[no-untyped-def]
    it = matcher(in_turn(make, make.request(**wrap(A))))
    assert found(it.match(make.request(**wrap(X)))).rules == (RENAMED,)


def test_one_recorded_identifier_is_one_present_one_through_the_run(make: SimpleNamespace) -> None:
    asked = [make.request({"id": A, "n": n}) for n in range(3)]
    it = matcher(in_turn(make, *asked))
    found(it.match(make.request({"id": X, "n": 0})))
    assert isinstance(it.match(make.request({"id": Y, "n": 1})), Miss)
    found(it.match(make.request({"id": X, "n": 1})))
    assert isinstance(it.match(make.request({"id": A, "n": 2})), Match), "exactly as recorded"


def test_two_recorded_identifiers_are_not_one_present_one(make: SimpleNamespace) -> None:
    it = matcher(in_turn(make, make.request({"from": A, "to": B})))
    assert isinstance(it.match(make.request({"from": X, "to": X})), Miss)
    found(it.match(make.request({"from": X, "to": Y})))


def test_an_identifier_that_stood_for_itself_is_not_renamed_later(make: SimpleNamespace) -> None:
    it = matcher(in_turn(make, make.request({"id": A, "n": 0}), make.request({"id": A, "n": 1})))
    assert found(it.match(make.request({"id": A, "n": 0}))).verdict == "exact"
    assert isinstance(it.match(make.request({"id": X, "n": 1})), Miss)


def test_an_identifier_from_a_reply_is_never_renamed(make: SimpleNamespace) -> None:
    first, second = in_turn(make, make.request({"n": 0}), make.request({"order": A}))
    replies = (f'{{"order": "{A}"}}'.encode(), f"X-Order: {A.upper()}".encode())
    for reply in (*replies, b'data: {"a":"%b"}\n\ndata: {"a":"%b"}\n\n' % (
        A[:9].encode(), A[9:].encode(),
    )):  # fmt: skip
        it = matcher([answering(first, reply), second])
        found(it.match(make.request({"n": 0})))
        assert isinstance(it.match(make.request({"order": X})), Miss)


def test_nor_is_one_renamed_to_an_identifier_from_a_reply(make: SimpleNamespace) -> None:
    first, second = in_turn(make, make.request({"n": 0}), make.request({"order": A}))
    it = matcher([answering(first, X.encode()), second])
    found(it.match(make.request({"n": 0})))
    assert isinstance(it.match(make.request({"order": X})), Miss)


def test_nor_one_that_the_runs_were_given(make: SimpleNamespace) -> None:
    for given_text in (f"--task={A}", f"--task={X}"):
        it = matcher(in_turn(make, make.request({"task": A})), given=[given_text])
        assert isinstance(it.match(make.request({"task": X})), Miss)


def test_a_later_reply_does_not_make_it_from_outside(make: SimpleNamespace) -> None:
    first, second = in_turn(make, make.request({"id": A, "n": 0}), make.request({"id": A, "n": 1}))
    it = matcher([answering(first, f"echo {A}".encode()), second])
    for n in range(2):
        assert found(it.match(make.request({"id": X, "n": n}))).rules == (RENAMED,)


def test_an_echo_of_what_is_not_compared_is_an_echo(make: SimpleNamespace) -> None:
    headers = (("Content-Type", "application/json"), ("session-id", A))
    first = make.recorded(1, make.request({"n": 0}, headers=headers))
    second = make.recorded(2, make.request({"id": A, "n": 1}))
    it = matcher([answering(first, f'{{"prompt_cache_key": "{A}"}}'.encode()), second])
    found(it.match(make.request({"n": 0})))
    assert found(it.match(make.request({"id": X, "n": 1}))).rules == (RENAMED,)


def test_a_recorded_name_that_a_reply_brought_in_pieces_still_stands_for_itself(
    make: SimpleNamespace,
) -> None:
    first, second = in_turn(make, make.request({"id": A}), make.request({"id": A, "said": f"{A}!"}))
    it = matcher([answering(first, f"you are {A}".encode()), second])
    found(it.match(make.request({"id": X})))
    assert isinstance(it.match(make.request({"id": A, "said": f"{Y}!"})), Miss)
    assert found(it.match(make.request({"id": X, "said": f"{A}!"}))).rules == (RENAMED,)
    assert it.likeness.renaming.renamed == {A: X}


def test_numbers_and_digests_are_not_renamed(make: SimpleNamespace) -> None:
    for old, new in (("order 20261129", "order 20261130"), ("ab12" * 10, "cd34" * 10)):
        it = matcher(in_turn(make, make.request({"text": old})))
        assert isinstance(it.match(make.request({"text": new})), Miss)


def test_what_else_differs_is_a_divergence(make: SimpleNamespace) -> None:
    it = matcher(in_turn(make, make.request({"id": A, "text": "one"})))
    assert isinstance(it.match(make.request({"id": X, "text": "two"})), Miss)


def test_of_several_the_earliest_of_the_same_process_comes_first(make: SimpleNamespace) -> None:
    asked = [make.request({"id": name}, process_id=process) for name, process in
             ((A, 1), (B, 2), (C, 2))]  # fmt: skip
    it = matcher(in_turn(make, *asked))
    outcomes = [it.match(make.request({"id": name}, process_id=2)) for name in (X, Y, Z)]
    assert [found(outcome).recorded.exchange_id for outcome in outcomes] == [2, 3, 1]


def test_facts_are_equal_in_the_same_place_and_named(make: SimpleNamespace) -> None:
    facts = Facts({"home": "/home/alice", "date": "2026-11-29"},
                  {"home": "/srv/robert", "date": "2026-11-30"})  # fmt: skip
    asked = {"system": "In /home/alice/x on 2026-11-29.", "log": "/home/alice"}
    for now, rules in (
        ({"system": "In /srv/robert/x on 2026-11-30.", "log": "/srv/robert"},
         ("fact: date", "fact: home")),
        ({"system": "In /home/alice/x on 2026-11-30.", "log": "/srv/robert"},
         ("fact: date", "fact: home")),
        ({"system": "In /srv/robert/y on 2026-11-30.", "log": "/srv/robert"}, None),
        ({"system": "In /srv/robert/x on 2026-11-28.", "log": "/srv/robert"}, None),
    ):  # fmt: skip
        outcome = matcher(in_turn(make, make.request(asked)), facts).match(make.request(now))
        assert (outcome.rules if isinstance(outcome, Match) else None) == rules


def test_facts_and_identifiers_and_volatile_fields_together(make: SimpleNamespace) -> None:
    facts = Facts({"cwd": "/home/alice/shop"}, {"cwd": "/srv/shop"})

    def body(key: str, folder: str, item: str, text: str) -> Request:
        asked = {"prompt_cache_key": key, "input": [{"id": item, "text": folder + text}]}
        return make.request(asked, target="/v1/responses")  # type: ignore[no-any-return]

    it = matcher([make.recorded(1, body(A, "/home/alice/shop", f"msg_{B}", f" {C}"))], facts)
    outcome = found(it.match(body(X, "/srv/shop", f"msg_{Y}", f" {Z}")))
    assert outcome.rules == ("codex item id", "session cache key", "fact: cwd", RENAMED)
    assert it.likeness.renaming.renamed == {C: Z}


IDS = st.sampled_from([A, B, C, D, "abad1dea", "plain"])


@given(st.lists(st.lists(IDS, max_size=4), max_size=6))
def test_equal_requests_never_need_a_renaming(
    make: SimpleNamespace, bodies: list[list[str]]
) -> None:
    asked = [make.request({"ids": ids}) for ids in bodies]
    it = matcher(in_turn(make, *asked))
    for item in asked:
        outcome = it.match(item)
        assert isinstance(outcome, Match)
        assert outcome.verdict == "exact"
    assert it.likeness.renaming.renamed == {}


NAMES = [A, B, C, D]
NEW = [X, Y, Z, *NAMES]


@given(
    st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=5),
    st.lists(st.lists(st.sampled_from(NEW), min_size=1, max_size=3), min_size=1, max_size=5),
    st.sets(st.sampled_from(NEW)),
)
def test_names_go_one_to_one_and_none_from_outside_is_renamed(
    make: SimpleNamespace, then: list[list[str]], now: list[list[str]], outside: set[str]
) -> None:
    items = in_turn(make, *(make.request({"ids": ids}) for ids in then))
    it = matcher(items, given=outside)
    pairs: set[tuple[str, str]] = set()
    for ids in now:
        outcome = it.match(make.request({"ids": ids}))
        if isinstance(outcome, Match):
            told = set(zip(then[outcome.recorded.exchange_id - 1], ids, strict=True))
            if outcome.verdict == "exact":
                # The same bytes are the same request, whatever was renamed before.
                renamed = it.likeness.renaming.renamed
                told = {one for one in told if not {*one} & {*renamed, *renamed.values()}}
            pairs |= told
    assert len({old for old, _ in pairs}) == len(pairs) == len({new for _, new in pairs})
    assert not any({old, new} & outside for old, new in pairs if old != new)
    assert it.likeness.renaming.renamed == {old: new for old, new in pairs if old != new}


def test_an_identifier_that_the_recording_holds_elsewhere_was_not_made_anew(
    make: SimpleNamespace,
) -> None:
    it = matcher(in_turn(make, make.request({"a": A, "c": C}), make.request({"a": B})))
    assert isinstance(it.match(make.request({"a": B, "c": C})), Miss)
    assert found(it.match(make.request({"a": B}))).verdict == "exact"


def test_many_requests_of_one_form_cost_time_in_proportion(make: SimpleNamespace) -> None:
    def asked(seed: int) -> list[Request]:
        random = Random(seed)
        ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(2000)]
        return [make.request({"id": name}) for name in ids]

    it = matcher(in_turn(make, *asked(1)))
    began = time.process_time()
    for number, request in enumerate(asked(2), start=1):
        assert found(it.match(request)).recorded.exchange_id == number
    assert time.process_time() - began < 5


def test_a_body_full_of_identifiers_is_not_renamed_at_any_price(make: SimpleNamespace) -> None:
    def body(seed: int) -> Request:
        random = Random(seed)
        return make.request({"ids": [f"{random.getrandbits(64):016x}" for _ in range(20_000)]})  # type: ignore[no-any-return]

    it = matcher(in_turn(make, body(1)))
    began = time.process_time()
    assert isinstance(it.match(body(2)), Miss)
    assert time.process_time() - began < 3


def test_a_miss_shows_what_really_differs(make: SimpleNamespace) -> None:
    facts = Facts({"cwd": "/home/alice/shop"}, {"cwd": "/srv/shop"})
    then = {"id": A, "folder": "/home/alice/shop", "text": "one", "z": C}
    it = matcher(in_turn(make, make.request(then)), facts)
    miss = it.match(make.request({"id": X, "folder": "/srv/shop", "text": "two", "z": Z}))
    assert isinstance(miss, Miss)
    assert [item.path for item in miss.differences] == ["text"]


def test_an_identifier_from_outside_is_shown_as_the_difference(make: SimpleNamespace) -> None:
    first, second = in_turn(make, make.request({"n": 0}), make.request({"id": A, "order": B}))
    it = matcher([answering(first, B.encode()), second])
    found(it.match(make.request({"n": 0})))
    miss = it.match(make.request({"id": X, "order": Y}))
    assert isinstance(miss, Miss)
    assert [item.path for item in miss.differences] == ["order"]


def test_where_each_could_be_but_not_all_together_every_place_is_shown(
    make: SimpleNamespace,
) -> None:
    it = matcher(in_turn(make, make.request({"from": A, "to": B})))
    miss = it.match(make.request({"from": X, "to": X}))
    assert isinstance(miss, Miss)
    assert [item.path for item in miss.differences] == ["from", "to"]
