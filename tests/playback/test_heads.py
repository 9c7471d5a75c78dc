"""Request heads as they are compared, and when one is read again."""

from rerail.playback.heads import AskedHeads
from rerail.proxy.handler import Route
from rerail.redact.apply import Redactor

ROUTE = Route(1, "https", "api.openai.com", 443, 1)
HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: api.openai.com\r\nContent-Length: %d\r\n"
    b"Authorization: Bearer %b\r\nContent-Type: application/json\r\n\r\n"
)


def heads() -> AskedHeads:
    return AskedHeads(Redactor.create(key=b"k" * 32))


def test_a_head_is_read_with_its_credentials_replaced() -> None:
    asked = heads().read(HEAD % (12, b"verysecret1"), ROUTE)
    assert (asked.request.method, asked.request.url) == (
        "POST",
        "https://api.openai.com/v1/chat/completions",
    )
    assert asked.request.header("authorization").startswith("Bearer ⟦redacted:authorization:")
    assert b"verysecret1" not in asked.head.raw
    assert not asked.expects


def test_a_head_that_differs_in_its_length_alone_is_the_same() -> None:
    known = heads()
    first = known.read(HEAD % (12, b"verysecret1"), ROUTE)
    assert known.read(HEAD % (3456, b"verysecret1"), ROUTE) is first
    assert known.read(HEAD % (12, b"verysecret2"), ROUTE).request != first.request


def test_another_origin_or_process_is_another_request() -> None:
    known = heads()
    first = known.read(HEAD % (12, b"verysecret1"), ROUTE)
    again = Route(2, "https", "api.openai.com", 443, 1)
    other = Route(2, "https", "api.openai.com", 443, 2)
    assert known.read(HEAD % (12, b"verysecret1"), again) is first
    assert known.read(HEAD % (12, b"verysecret1"), other).request.process_id == 2


def test_a_length_that_is_folded_stays_in_the_head() -> None:
    known = heads()
    first = known.read(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n 2\r\n\r\n", ROUTE)
    assert first.request.header("content-length") == "1 2"


def test_heads_that_never_come_again_are_forgotten() -> None:
    known = heads()
    first = known.read(b"GET /0 HTTP/1.1\r\n\r\n", ROUTE)
    for number in range(1, 1000):
        known.read(b"GET /%d HTTP/1.1\r\n\r\n" % number, ROUTE)
    again = known.read(b"GET /0 HTTP/1.1\r\n\r\n", ROUTE)
    assert again == first
    assert again is not first


def test_a_client_that_waits_to_be_asked_is_seen() -> None:
    head = b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    assert heads().read(head, ROUTE).expects
