"""Where two requests differ."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.divergence import (
    LIMIT,
    Difference,
    can_be_ignored,
    compare_values,
    differences,
)
from rerail.compare.values import read_json
from rerail.compare.volatile import Rules

RULES = Rules()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


def paths(found: list[Difference]) -> list[tuple[str, str]]:
    return [(difference.path, difference.kind) for difference in found]


def compared(one: object, other: object) -> list[Difference]:
    return compare_values(
        read_json(json.dumps(one).encode()), read_json(json.dumps(other).encode())
    )


def test_a_changed_word_in_a_message_is_named_with_its_neighbours(make: SimpleNamespace) -> None:
    messages = [{"role": "user", "content": "fix the build in api.ts, please"}]
    changed = [{"role": "user", "content": "fix the tests in api.ts, please"}]
    (found,) = differences(
        make.request({"model": "m", "messages": messages}),
        make.request({"messages": changed, "model": "m"}),
        RULES,
    )
    assert (found.path, found.kind) == ("messages[0].content", "changed")
    assert [(word.recorded, word.now) for word in found.words] == [("build", "tests")]
    assert found.words[0].before == "fix the "
    assert (found.recorded_size, found.now_size) == (31, 31)


def test_an_inserted_message_is_one_difference() -> None:
    history = [{"content": f"message {number}"} for number in range(6)]
    longer = [*history[:2], {"content": "a hint"}, *history[2:]]
    assert paths(compared({"messages": history}, {"messages": longer})) == [
        ("messages[2]", "added")
    ]
    assert paths(compared({"messages": longer}, {"messages": history})) == [
        ("messages[2]", "removed")
    ]


def test_added_removed_and_changed_keys_are_told_apart() -> None:
    found = compared({"a": 1, "b": [1, 2], "c": 1.0}, {"b": [1, 3], "c": 1, "d": None})
    assert paths(found) == [("a", "removed"), ("b[1]", "changed"), ("c", "changed"), ("d", "added")]
    assert [found[2].recorded, found[2].now] == ["1.0", "1"]
    assert (found[0].recorded, found[0].now) == ("1", None)
    assert (found[3].recorded, found[3].now) == (None, "null")


def test_a_root_that_differs_is_called_the_body() -> None:
    assert paths(compared("one", "two")) == [("body", "changed")]
    assert paths(compared({"a": 1}, [1])) == [("body", "changed")]


@given(JSON, JSON)
def test_there_are_differences_exactly_where_the_values_differ(one: object, other: object) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert bool(compared(one, other)) != same


def test_a_long_value_is_cut_and_its_length_told() -> None:
    (found,) = compared({"a": "x" * 5000}, {"a": "y" * 9000})
    assert (found.recorded_size, found.now_size) == (5000, 9000)
    assert found.recorded is not None
    assert len(found.recorded) < 500


def test_many_differences_are_cut_at_the_limit() -> None:
    assert len(compared(list(range(200)), list(range(1, 201)))) <= LIMIT
    assert len(compared({str(n): n for n in range(200)}, {})) == LIMIT


def test_nesting_to_the_limit_does_no_harm() -> None:
    deep = read_json(b"[" * 900 + b"1" + b"]" * 900)
    other = read_json(b"[" * 900 + b"2" + b"]" * 900)
    assert paths(compare_values(deep, other)) == [("[0]" * 900, "changed")]


def test_heads_are_compared_by_what_counts_in_them(make: SimpleNamespace) -> None:
    recorded = make.request(target="/a?x=1&y=2", headers=[("accept", "a/a"), ("cookie", "1")])
    now = make.request(
        method="PUT",
        target="/b?x=1&y=3&z=4",
        headers=[("cookie", "2"), ("anthropic-version", "1")],
    )
    assert paths(differences(recorded, now, RULES)) == [
        ("method", "changed"),
        ("path", "changed"),
        ("header:accept", "removed"),
        ("query:y", "changed"),
        ("header:anthropic-version", "added"),
        ("query:z", "added"),
    ]


def test_what_a_rule_leaves_out_is_no_difference(make: SimpleNamespace) -> None:
    rules = Rules(["nonce", "query:n"])
    recorded = make.request({"nonce": 1, "a": "x"}, target="/a?n=1")
    now = make.request({"nonce": 2, "a": "y"}, target="/a?n=2")
    assert paths(differences(recorded, now, rules)) == [("a", "changed")]


def test_a_redacted_value_is_no_difference_unless_it_is_the_only_one(
    make: SimpleNamespace,
) -> None:
    recorded = make.request({"k": "⟦redacted:key:aa⟧", "a": "x"})
    now = make.request({"k": "⟦redacted:key:bb⟧", "a": "y"})
    assert paths(differences(recorded, now, RULES)) == [("a", "changed")]
    only = make.request({"k": "⟦redacted:key:bb⟧", "a": "x"})
    (found,) = differences(recorded, only, RULES)
    assert [(word.recorded, word.now) for word in found.words] == [("aa", "bb")]
    one, other = (make.request(target=f"/a?k=⟦redacted:k:{digit}⟧") for digit in "12")
    assert paths(differences(one, other, RULES)) == [("target", "changed")]


def test_text_is_compared_line_by_line(make: SimpleNamespace) -> None:
    kind = [("content-type", "text/plain")]
    one = make.request(b"first\nsecond line\nthird\n", headers=kind)
    other = make.request(b"first\nanother line\nthird\nfourth\n", headers=kind)
    found = differences(one, other, RULES)
    assert paths(found) == [("body line 2", "changed"), ("body line 4", "added")]
    assert found[0].words[0].now == "another"


def test_bytes_are_named_where_they_begin_to_differ(make: SimpleNamespace) -> None:
    one = make.request(b"\x89PNG\x00\x01\x02", headers=[])
    other = make.request(b"\x89PNG\x00\xff", headers=[])
    (found,) = differences(one, other, RULES)
    assert found.path == "body byte 5"
    assert found.recorded == "7 bytes, here 01 02"
    assert found.now == "6 bytes, here ff"


@pytest.mark.parametrize(("one", "other"), [(b"", b"x"), (b"x", b"")])
def test_a_body_on_one_side_only(make: SimpleNamespace, one: bytes, other: bytes) -> None:
    found = differences(make.request(one), make.request(other), RULES)
    assert paths(found) == [("body", "added" if other else "removed")]


def test_bodies_too_large_to_hold_are_told_by_size_and_digest(make: SimpleNamespace) -> None:
    from msgspec.structs import replace

    one = replace(make.request(b"x"), body=None, body_size=2_000_000_000)
    (found,) = differences(one, make.request(b"y"), RULES)
    assert found.path == "body"
    assert found.recorded is not None
    assert found.recorded.startswith("2 000 000 000 bytes, sha256 ")


def test_form_fields_and_parts_are_named(make: SimpleNamespace) -> None:
    form = [("content-type", "application/x-www-form-urlencoded")]
    found = differences(
        make.request(b"a=1&b=2", headers=form), make.request(b"a=1&b=3", headers=form), RULES
    )
    assert paths(found) == [("b[0]", "changed")]
    kind = [("content-type", "multipart/form-data; boundary=x")]
    bodies = [
        b"--x\r\nContent-Disposition: form-data; name=f\r\n\r\n%b\r\n--x--\r\n" % text
        for text in (b"one", b"two")
    ]
    first, second = (make.request(body, headers=kind) for body in bodies)
    assert paths(differences(first, second, RULES)) == [("[0].body", "changed")]


def test_only_a_field_can_be_ignored() -> None:
    assert can_be_ignored("messages[0].id")
    assert can_be_ignored("query:x")
    assert can_be_ignored("header:accept")
    assert not any(map(can_be_ignored, ["path", "body", "body line 3", "body byte 0", "method"]))
