"""JSON as it is compared."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.values import Unreadable, read_json, show, value_digest, walk

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def digest(text: str) -> bytes:
    return value_digest(read_json(text.encode("utf-8")))


def shuffled(value: object, draw: st.DataObject) -> object:
    if isinstance(value, dict):
        names = draw.draw(st.permutations(list(value)))
        return {name: shuffled(value[name], draw) for name in names}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


@given(JSON, st.data())
def test_key_order_white_space_and_escapes_do_not_count(value: object, data: st.DataObject) -> None:
    plain = json.dumps(value, separators=(",", ":"))
    other = json.dumps(shuffled(value, data), indent=2, ensure_ascii=False)
    if not any("\ud800" <= character <= "\udfff" for character in other):
        assert digest(plain) == digest(other)


@given(JSON, JSON)
def test_other_values_have_other_digests(one: object, other: object) -> None:
    first, second = json.dumps(one, sort_keys=True), json.dumps(other, sort_keys=True)
    assert (digest(first) == digest(second)) == (first == second)


@given(st.binary(max_size=60) | st.text(alphabet='[]{}",:0123456789.eE+-\\u ntf').map(str.encode))
def test_nothing_makes_it_raise_anything_else(content: bytes) -> None:
    with contextlib.suppress(Unreadable):
        value_digest(read_json(content))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.0", "1"),
        ("1e2", "100"),
        ("0", "-0"),
        ("1E2", "1e2"),
        ("[1, 2]", "[2, 1]"),
        ("1", '"1"'),
        ("true", "1"),
        ("null", "{}"),
        ("NaN", "Infinity"),
        ('{"a": null}', "{}"),
        ('"\\ud800"', '"\\ud801"'),
        ('"\\ud800"', '"\\\\ud800"'),
        ('{"\\ud800": 1}', '{"\\ud801": 1}'),
        ("9007199254740993", "9007199254740992"),
    ],
)
def test_these_are_not_the_same(one: str, other: str) -> None:
    assert digest(one) != digest(other)


def test_a_lone_surrogate_is_a_value_like_any_other() -> None:
    assert digest('{"a": "\\ud800", "b": [1]}') == digest('{"b":[1],"a":"\\uD800"}')


def test_an_integer_of_any_length_is_a_number() -> None:
    assert digest("1" * 10_000) == digest(" " + "1" * 10_000)


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": 1, "a": 1}',
        b'[{"x": {"a": 1, "a": 2}}]',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"{} {}",
        b"",
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
    ],
)
def test_what_has_no_single_reading_is_unreadable(content: bytes) -> None:
    with pytest.raises(Unreadable):
        value_digest(read_json(content))


def test_walking_comes_by_every_place_with_keys_sorted() -> None:
    value = read_json(b'{"b": [1, {"d": 2}], "a": 3}')
    assert [key for _, key in walk(value)] == ["a", "b", 0, 1, "d"]


def test_a_value_is_shown_with_its_numbers_as_written() -> None:
    assert show(read_json(b'{"a": [1.50, "x", null, -0], "b": true}')) == (
        '{"a": [1.50, "x", null, -0], "b": true}'
    )
    assert show(read_json(b'"plain"')) == "plain"
    assert show(read_json(b"1e2")) == "1e2"
