"""A request while it comes: what it is compared as, and what of it is kept to be sent on."""

from hashlib import sha256

import pytest

from rerail.compare.body import READ_LIMIT
from rerail.playback.arriving import Arriving
from rerail.playback.heads import AskedHeads
from rerail.proxy.handler import Route
from rerail.redact.apply import Redactor
from rerail.wire.http1 import Data

SECRET = b"sk-abcdefgh12345678"
HEAD = b"POST /v1 HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer " + SECRET + b"\r\n\r\n"


def arriving(*, keep_raw: bool) -> Arriving:
    route = Route(1, "https", "a.test", 443, 1)
    asked = AskedHeads(Redactor.create(key=b"k" * 32)).read(HEAD, route)
    made = Arriving(asked, keep_raw=keep_raw)
    made.keep(HEAD)
    return made


def chunk(payload: bytes) -> Data:
    return Data(payload, raw=b"%x\r\n%b\r\n" % (len(payload), payload))


def test_it_is_compared_without_its_framing_and_credentials() -> None:
    it = arriving(keep_raw=False)
    for payload in (b'{"a": ', b"1}"):
        it.add(chunk(payload))
    request = it.request()
    assert (request.body, request.body_size) == (b'{"a": 1}', 8)
    assert request.body_digest == sha256(b'{"a": 1}').digest()
    assert SECRET not in it.head.raw
    assert it.raw == b""


def test_it_is_kept_as_sent_only_where_it_may_go_on() -> None:
    it = arriving(keep_raw=True)
    it.add(chunk(b"abc"))
    it.keep(b"0\r\n\r\n")
    assert it.raw == HEAD + b"3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_a_body_too_large_to_compare_is_known_by_its_digest(more: int, kept: bool) -> None:
    it, size = arriving(keep_raw=False), READ_LIMIT + more
    piece = bytes(1 << 20)
    for start in range(0, size, len(piece)):
        it.add(Data(piece[: size - start]))
    request = it.request()
    assert (request.body is not None) is kept
    assert (request.body_size, request.body_digest) == (size, sha256(bytes(size)).digest())


def test_what_has_come_so_far_can_be_asked_about() -> None:
    it = arriving(keep_raw=False)
    assert it.request().body == b""
    it.add(chunk(b"abc"))
    assert it.request().body == b"abc"
