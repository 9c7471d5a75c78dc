"""Requests and recordings for the tests of comparing."""

import hashlib
import json
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rerail.compare.canon import Request
from rerail.compare.match import Matcher
from rerail.compare.recorded import Recorded
from rerail.compare.volatile import Rules

JSON = (("Content-Type", "application/json"),)


def request(
    body: object = b"",
    *,
    method: str = "POST",
    target: str = "/v1/chat/completions",
    host: str = "api.openai.com",
    headers: Iterable[tuple[str, str]] = JSON,
    process_id: int = 0,
) -> Request:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(
        method=method,
        scheme="https",
        host=host,
        port=443,
        target=target,
        headers=tuple(headers),
        body=content,
        body_digest=hashlib.sha256(content).digest(),
        body_size=len(content),
        process_id=process_id,
    )


def recorded(
    number: int, asked: Request, *, started: int | None = None, ended: int | None = None
) -> Recorded:
    """A recorded request; one after the other where no positions are given."""
    start = 10 * number if started is None else started
    return Recorded(
        exchange_id=number,
        request=replace(asked, body=None),
        load=_content(asked.body),
        started=start,
        ended=start + 5 if ended is None else ended,
    )


def _content(body: bytes | None) -> Callable[[], bytes | None]:
    return lambda: body


def matcher(*asked: Request, ignore: Iterable[str] = ()) -> Matcher:
    """A matcher over requests recorded one after the other, numbered from 1."""
    items = [recorded(number, item) for number, item in enumerate(asked, start=1)]
    return Matcher(items, Rules(ignore))


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """`make.request(body, …)`, `make.recorded(number, request)`, `make.matcher(*requests)`."""
    return SimpleNamespace(request=request, recorded=recorded, matcher=matcher)
