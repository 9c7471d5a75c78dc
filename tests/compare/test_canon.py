"""The key of a request."""

import gzip
import json
from types import SimpleNamespace

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rerail.compare.canon import Request, body_key, canonical_host, head_key
from rerail.compare.volatile import Rules
from rerail.wire.http1 import parse_head

RULES = Rules()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


def key(request: Request) -> tuple[object, ...]:
    head = head_key(request, RULES)
    return head.endpoint, head.strict, body_key(request, ()).strict


def shuffled(value: object, draw: st.DataObject) -> object:
    if isinstance(value, dict):
        names = draw.draw(st.permutations(list(value)))
        return {name: shuffled(value[name], draw) for name in names}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


@given(JSON, st.data())
def test_permuted_keys_and_white_space_are_the_same_request(
    make: SimpleNamespace, value: object, data: st.DataObject
) -> None:
    other = json.dumps(shuffled(value, data), indent=1).encode()
    assert key(make.request(value)) == key(make.request(other))


@given(JSON, JSON)
def test_any_other_value_is_another_request(
    make: SimpleNamespace, value: object, other: object
) -> None:
    same = json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (key(make.request({"a": value})) == key(make.request({"a": other}))) == same


def test_host_scheme_and_international_names_are_compared_in_one_form(
    make: SimpleNamespace,
) -> None:
    assert key(make.request(host="API.OpenAI.com")) == key(make.request())
    assert canonical_host("bücher.example") == "xn--bcher-kva.example"
    assert canonical_host("." * 3 + "ü" * 80) == "." * 3 + "ü" * 80


@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"scheme": "http"},
        {"host": "api.openai.org"},
        {"port": 8443},
        {"target": "/v1/chat/completions/"},
        {"target": "/v1/chat/complet%69ons"},
        {"target": "/v1/chat/completions?a=1"},
    ],
)
def test_each_part_of_the_address_counts(make: SimpleNamespace, change: dict[str, object]) -> None:
    assert key(replace(make.request(), **change)) != key(make.request())


def test_a_query_is_a_multiset(make: SimpleNamespace) -> None:
    assert key(make.request(target="/a?x=1&y=2&x=3")) == key(make.request(target="/a?x=3&x=1&y=2"))
    assert key(make.request(target="/a?x=1&x=1")) != key(make.request(target="/a?x=1"))
    assert key(make.request(target="/a?x=1")) != key(make.request(target="/a?x=%31"))


def test_credentials_cookies_and_ids_in_headers_do_not_count(make: SimpleNamespace) -> None:
    headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer x"),
        ("cookie", "a=b"),
        ("user-agent", "x/1"),
        ("traceparent", "00-1-2-01"),
        ("x-request-id", "7"),
        ("x-stainless-retry-count", "1"),
        ("idempotency-key", "k"),
        ("x-client-request-id", "r"),
        ("content-length", "0"),
        ("sec-websocket-key", "AAAA"),
    ]
    assert key(make.request(headers=headers)) == key(make.request())


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("Accept", "application/json", "text/event-stream"),
        ("content-type", "application/json", "application/json; charset=latin-1"),
        ("anthropic-version", "2023-06-01", "2024-01-01"),
        ("anthropic-beta", "a", "a,b"),
        ("OpenAI-Beta", "assistants=v1", "assistants=v2"),
        ("range", "bytes=0-9", "bytes=10-19"),
        ("x-amz-target", "DynamoDB.GetItem", "DynamoDB.PutItem"),
    ],
)
def test_the_few_headers_that_say_what_is_asked_count(
    make: SimpleNamespace, name: str, one: str, other: str
) -> None:
    assert key(make.request(headers=[(name, one)])) != key(make.request(headers=[(name, other)]))
    assert key(make.request(headers=[(name, one)])) != key(make.request(headers=[]))


def test_the_spelling_of_those_headers_does_not_count(make: SimpleNamespace) -> None:
    one = [("Accept", "text/html, */*"), ("Content-Type", "Application/JSON;charset=UTF-8")]
    other = [("content-type", 'application/json; charset="utf-8"'), ("accept", "*/*,text/html")]
    assert key(make.request(headers=one)) == key(make.request(headers=other))


@pytest.mark.parametrize(
    ("coding", "encode"),
    [("gzip", gzip.compress), ("zstd", zstandard.compress), ("br", brotli.compress)],
)
def test_a_content_coding_is_undone(make: SimpleNamespace, coding: str, encode: object) -> None:
    plain = make.request({"a": 1, "b": 2})
    coded = make.request(
        encode(b'{"b":2,"a":1}'),
        headers=[("content-type", "application/json"), ("content-encoding", coding)],
    )
    assert key(plain) == key(coded)


def test_a_multipart_boundary_does_not_count(make: SimpleNamespace) -> None:
    def upload(boundary: str, content: str = "x") -> Request:
        body = (
            f"--{boundary}\r\nContent-Disposition: form-data; name=f\r\n\r\n{content}\r\n"
            f"--{boundary}--\r\n"
        )
        kind = f"multipart/form-data; boundary={boundary}"
        return make.request(body.encode(), headers=[("Content-Type", kind)])

    assert key(upload("one")) == key(upload("two"))
    assert key(upload("one")) != key(upload("one", "y"))


def test_form_fields_may_come_in_another_order(make: SimpleNamespace) -> None:
    kind = [("content-type", "application/x-www-form-urlencoded")]
    assert key(make.request(b"a=1&b=2&a=3", headers=kind)) == key(
        make.request(b"b=2&a=1&a=3", headers=kind)
    )
    assert key(make.request(b"a=1&a=3", headers=kind)) != key(
        make.request(b"a=3&a=1", headers=kind)
    )


@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 1}', b"[" * 5000 + b"]" * 5000, b'{"a": "\xff"}', b"{"]
)
def test_a_body_without_a_single_reading_is_compared_as_bytes(
    make: SimpleNamespace, body: bytes
) -> None:
    assert body_key(make.request(body), ()).form == "bytes"
    assert key(make.request(body)) == key(make.request(body))
    assert key(make.request(body)) != key(make.request(body + b" "))


def test_a_body_too_large_to_hold_is_compared_by_its_digest(make: SimpleNamespace) -> None:
    large = replace(make.request(b"x" * 100), body=None)
    assert body_key(large, ()).strict == large.body_digest


def test_redacted_values_are_blanked_and_kept_apart(make: SimpleNamespace) -> None:
    request = make.request(
        {"token": "⟦redacted:jwt:aaaaaaaaaaaa⟧"},
        target="/a?token=⟦redacted:token:bbbbbbbbbbbb⟧&key=⟦redacted:key:cccccccccccc⟧",
    )
    other = make.request(
        {"token": "⟦redacted:jwt:111111111111⟧"},
        target="/a?key=⟦redacted:key:333333333333⟧&token=⟦redacted:token:222222222222⟧",
    )
    assert key(request) == key(other)
    head = head_key(request, RULES)
    assert head.references == ("key:cccccccccccc", "token:bbbbbbbbbbbb")
    assert body_key(request, ()).references == ("jwt:aaaaaaaaaaaa",)


def test_a_request_is_read_from_a_head_as_sent() -> None:
    head = parse_head(
        b"POST http://h.example:81/p?q HTTP/1.1\r\nX-A: \xc3\xa9\r\nX-A: \xff\r\n\r\n"
    )
    request = Request.read(head, scheme="http", host="h.example", port=81, body=b"{}")
    assert (request.method, request.target, request.path, request.query) == (
        "POST", "/p?q", "/p", "q",
    )  # fmt: skip
    assert request.header("x-a") == "é, \udcff"
    assert (request.body_size, request.url) == (2, "http://h.example:81/p?q")
