"""The names of the rules under which requests are equal."""

import gzip
from types import SimpleNamespace

import pytest

from rerail.compare.misses import Miss
from rerail.compare.reasons import EXPLAINED, SPELLING

FORM = [("content-type", "application/x-www-form-urlencoded")]


def upload(boundary: str) -> tuple[bytes, list[tuple[str, str]]]:
    body = f"--{boundary}\r\nContent-Disposition: form-data; name=f\r\n\r\nx\r\n--{boundary}--\r\n"
    return body.encode(), [("Content-Type", f"multipart/form-data; boundary={boundary}")]


@pytest.mark.parametrize(
    ("one", "other", "rules"),
    [
        ((b'{"a": 1}', None), (b'{"a":1}', None), ("json spelling",)),
        ((b"a=1&b=2", FORM), (b"b=2&a=1", FORM), ("form order",)),
        (upload("one"), upload("two"), ("multipart boundary",)),
        (
            (b'{"a": 1}', None),
            (
                gzip.compress(b'{"a":1}'),
                [("content-type", "application/json"), ("content-encoding", "gzip")],
            ),
            ("content coding",),
        ),
        (
            (b'{"id": 1, "nonce": 1, "a": 1}', None),
            (b'{"id": 2, "nonce": 1, "a": 1}', None),
            ("ignored id",),
        ),
        (
            (b'{"id": 1, "nonce": 1}', None),
            (b'{"nonce": 2}', None),
            ("ignored id", "ignored nonce"),
        ),
    ],
)
def test_each_rule_that_was_needed_is_named(
    make: SimpleNamespace,
    one: tuple[bytes, list[tuple[str, str]] | None],
    other: tuple[bytes, list[tuple[str, str]] | None],
    rules: tuple[str, ...],
) -> None:
    first, second = (
        make.request(body, **({"headers": headers} if headers else {}))
        for body, headers in (one, other)
    )
    match = make.matcher(first, ignore=["id", "nonce"]).match(second)
    assert not isinstance(match, Miss)
    assert (match.verdict, match.rules) == ("equivalent", rules)


def test_every_rule_without_a_table_is_explained() -> None:
    assert set(SPELLING.values()) <= set(EXPLAINED)
    assert all(EXPLAINED.values())
