"""Credentials in URLs: which go, and that all other bytes stay."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.redact.reference import PLACEHOLDER, References
from rerail.redact.urls import UrlCleaner

SECRET = b"s3cr3t-Va1ue"
CLEANER = UrlCleaner(References(b"k" * 32))


def cleaned(text: bytes) -> bytes:
    """The text with the digits of each reference left out."""
    return PLACEHOLDER.compiled.sub(rb"<\1>", CLEANER.clean(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"GET /v1?key=%s HTTP/1.1", b"GET /v1?key=<key> HTTP/1.1"),
        (b"/v1?a=1&api_key=%s&b=2", b"/v1?a=1&api_key=<api-key>&b=2"),
        (b"/v1?API%%5FKEY=%s&x=2", b"/v1?API%5FKEY=<api-key>&x=2"),
        (b"/?X-Amz-Signature=%s#part", b"/?X-Amz-Signature=<x-amz-signature>#part"),
        (
            b"<https://a.example/?token=%s>; rel=next",
            b"<https://a.example/?token=<token>>; rel=next",
        ),
        (
            b"https://a/cb#access_token=%s&state=1",
            b"https://a/cb#access_token=<access-token>&state=1",
        ),
        (b"/app;jsessionid=%s?x=1", b"/app;jsessionid=<jsessionid>"),
        (b"/?next=https://b/?token=%s", b"/?next=https://b/?token=<token>"),
        (
            b"/?next=https%%3A%%2F%%2Fb%%2F%%3Ftoken%%3D%s%%26x%%3D1&y=2",
            b"/?next=https%3A%2F%2Fb%2F%3Ftoken%3D<token>%26x%3D1&y=2",
        ),
        (b"/?token=a%%26%s", b"/?token=<token>"),
        (b"https://user:%s@a.example/x", b"https://<userinfo>@a.example/x"),
        (b"https://%s@github.example/x.git", b"https://<userinfo>@github.example/x.git"),
        (b"postgres://u:p@%s@db/x", b"postgres://<userinfo>@db/x"),
        (
            b"/bot123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-%s/sendMessage",
            b"/bot<path>/sendMessage",
        ),
        (b"/services/T00/B00/%s", b"/services/<path>"),
        (
            b"/api/webhooks/99/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%s?wait=1",
            b"/api/webhooks/99/<path>?wait=1",
        ),
    ],
)
def test_a_credential_in_a_url_is_replaced(text: bytes, expected: bytes) -> None:
    secret = SECRET.replace(b"-", b"") if b"services" in text else SECRET
    text = text % secret if b"%s" in text else text.replace(b"%%", b"%")
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"GET /v1/models?limit=5&after=x&page_token=abc HTTP/1.1",
        b"https://a.example/@user?x=a@b",
        b"mail me@a.example ; q=0.9",
        b"Content-Type: text/html;charset=utf-8",
        b"/?token=&key",
        b"/?key= HTTP/1.1",
        b"/robots.txt /bots/1 /services/ /webhooks/1/short",
        b"100% = 3D %3D",
    ],
)
def test_what_holds_no_credential_stays(text: bytes) -> None:
    assert CLEANER.clean(text) == text


def test_an_encoded_value_has_the_reference_of_the_plain_one() -> None:
    assert CLEANER.clean(b"?key=a%2Bb") == CLEANER.clean(b"?key=a+b")


@given(st.binary(max_size=200))
def test_cleaning_twice_changes_nothing_more(text: bytes) -> None:
    once = CLEANER.clean(text)
    assert CLEANER.clean(once) == once


@given(
    st.lists(st.from_regex(rb"[a-z]{1,8}=[A-Za-z0-9%./-]{0,12}", fullmatch=True), max_size=4),
    st.sampled_from([b"key", b"access_token", b"Token", b"api-key", b"client_secret"]),
    st.from_regex(rb"[A-Za-z0-9+/=._~:@!-]{12,40}", fullmatch=True),
    st.integers(0, 4),
)
def test_a_secret_value_never_survives_at_any_place_of_a_query(
    others: list[bytes], key: bytes, secret: bytes, place: int
) -> None:
    others = [part for part in others if not re.match(rb"key|sig|pwd|auth|token|jwt|secret", part)]
    parts = [*others[:place], key + b"=" + secret, *others[place:]]
    text = CLEANER.clean(b"GET /v1/x?" + b"&".join(parts) + b" HTTP/1.1\r\n")
    assert secret not in text
    for part in others:
        assert part in text
