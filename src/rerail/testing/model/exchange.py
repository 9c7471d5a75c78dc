"""The HTTP of the simulated model: bodies read, documents sent, refusals worded. No API's form."""

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from email.utils import formatdate
from typing import Any, Final

import zstandard

from rerail.clock import wall_ns
from rerail.testing.connection import Connection, Request
from rerail.testing.model.conversation import BadRequest
from rerail.testing.replies import Header, head

BODY_LIMIT: Final = 64 << 20


class Refused(Exception):
    """The call is refused with this status; the API puts the message into its own form."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_json(request: Request) -> Mapping[str, Any]:
    """The request's body, its content coding undone.

    Raises:
        Refused: It is too large.
        BadRequest: It is not a JSON object.
    """
    data = bytearray()
    for block in request.blocks():
        data += block
        if len(data) > BODY_LIMIT:
            raise Refused(413, "The request is larger than 64 MiB.")
    try:
        value = json.loads(_decoded(bytes(data), request.header("content-encoding") or ""))
    except (ValueError, OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise BadRequest(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(value, dict):
        raise BadRequest("The body of your request is not a JSON object.")
    return value


def _decoded(data: bytes, coding: str) -> bytes:
    match coding:
        case "gzip":
            return gzip.decompress(data)
        case "deflate":
            return zlib.decompress(data)
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        case _:
            return data


def apology(status: int) -> str:
    """What the real services say with a status."""
    return {
        429: "Rate limit reached for simulated-1. Please try again later.",
        529: "Overloaded",
    }.get(status, "The server had an error while processing your request. Sorry about that!")


def retry_headers(seconds: float | None) -> list[Header]:
    """`Retry-After` in whole seconds, and the milliseconds that the SDKs prefer."""
    if seconds is None:
        return []
    milliseconds = ("retry-after-ms", str(round(seconds * 1000)))
    return [("Retry-After", str(math.ceil(seconds))), milliseconds]


def common_headers() -> list[Header]:
    """What every reply carries."""
    return [("Date", formatdate(wall_ns() / 1e9, usegmt=True)), ("Server", "rerail-simulated")]


def send_json(
    connection: Connection, status: int, value: object, more: Iterable[Header] = ()
) -> None:
    """Send a document with its length."""
    body = json.dumps(value, ensure_ascii=False).encode()
    kind = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    connection.send(head(status, [*common_headers(), *kind, *more]) + body)
