"""YAML without guesses, and without a key that stands twice."""

from itertools import pairwise

import pytest

from rerail.errors import UsageProblem
from rerail.task.plain_yaml import DOCUMENT_SIZE, read_yaml

SCALARS = b"version: 1.10\nno: no\nnothing:\nmany: [1, {a: 0o7}]\n"


def test_every_scalar_is_the_text_that_stands_there() -> None:
    assert read_yaml(SCALARS, "x.yaml") == {
        "version": "1.10",
        "no": "no",
        "nothing": "",
        "many": ["1", {"a": "0o7"}],
    }


def test_numbers_are_numbers_where_fields_may_be_of_any_type() -> None:
    content = b"a: 1.0\nb: {c: true, d: [1]}\nbase: &base {e: 1}\nf: {<<: *base, e: 2}\n"
    found = read_yaml(content, "x.yaml", typed=True)
    assert found["a"] == 1.0
    assert found["b"] == {"c": True, "d": [1]}
    assert found["f"] == {"e": 2}


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: 2\na: 3\n", "line 3: the key `a` stands there twice"),
        (b"a: {b: 1, b: 2}\n", "line 1: the key `b` stands there twice"),
        (b"a: [\n", "line 2"),
        (b"\xff\xfe\xff", "cannot be read as YAML"),
        (b"[" * 100_000, "cannot be read as YAML"),
        (b"#" * (DOCUMENT_SIZE + 1), "larger than 1 MiB"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(content: bytes, said: str, typed: bool) -> None:
    with pytest.raises(UsageProblem) as caught:
        read_yaml(content, "x.yaml", typed=typed)
    assert said in caught.value.what


def test_nothing_but_plain_values_is_made() -> None:
    content = b"a: !!python/object/apply:os.system [x]\n"
    assert read_yaml(content, "x.yaml") == {"a": ["x"]}
    with pytest.raises(UsageProblem, match="line 1: could not determine a constructor"):
        read_yaml(content, "x.yaml", typed=True)


def test_aliases_cannot_say_more_than_can_be_meant() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghi")]
    with pytest.raises(UsageProblem, match="more than can be meant"):
        read_yaml("\n".join(lines).encode(), "bomb.yaml")
    assert read_yaml(b"a: &a [x]\nb: *a", "few.yaml") == {"a": ["x"], "b": ["x"]}


@pytest.mark.parametrize("content", [b"a: &a [*a]", b"&a {b: *a}"])
@pytest.mark.parametrize("typed", [False, True])
def test_what_holds_itself_has_no_end(content: bytes, typed: bool) -> None:
    with pytest.raises(UsageProblem, match="more than can be meant"):
        read_yaml(content, "endless.yaml", typed=typed)


def test_nothing_is_nothing() -> None:
    assert read_yaml(b"", "empty.yaml") is None
