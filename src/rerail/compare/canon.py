"""The key of a request: what must be equal for two requests to be the same. Knows no recording.

In the key: method, scheme, host, port, the path's bytes, the query as a multiset, the body in a
form of its type's own, and of the headers only content type, accept and the few of
`VERSION_HEADERS`. Credentials, cookies, user agents, trace ids, retry counts and idempotency keys
never are: they differ between runs that ask the same.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Self

from msgspec import Struct

from rerail.compare.body import READ_LIMIT, Form, parameter, read_body
from rerail.compare.redacted import References, blank_bytes, blank_text, blank_value
from rerail.compare.values import Unreadable, value_digest
from rerail.compare.volatile import Blanked, BodyRule, Rules, blank
from rerail.llm.calls import ModelCall, model_call
from rerail.wire.forms import split_absolute
from rerail.wire.http1 import Head, request_line

VERSION_HEADERS: Final = {
    "anthropic-version": "the API's version",
    "anthropic-beta": "features that are switched on",
    "openai-version": "the API's version",
    "openai-beta": "features that are switched on",
    "api-version": "the API's version",
    "x-api-version": "the API's version",
    "x-goog-api-version": "the API's version",
    "x-github-api-version": "the API's version",
    "x-ms-version": "the API's version",
    "notion-version": "the API's version",
    "stripe-version": "the API's version",
    "mcp-protocol-version": "the protocol's version",
    "git-protocol": "the protocol's version",
    "x-amz-target": "the operation: AWS has one path for all",
    "range": "another part of a resource is another thing to ask for",
}
"""The headers beside content type and accept that say what is asked for, and why each does."""

NO_BODY: Final = hashlib.sha256().digest()


class Request(Struct, frozen=True):
    """A request as it is compared: credentials replaced, `target` in origin form.

    `body` is None for one that was too large to be held (`READ_LIMIT`); `body_digest` is the
    SHA-256 of the body as it crossed the wire, content codings kept. Header values are decoded as
    UTF-8, bytes that are none kept as surrogates.
    """

    method: str
    scheme: str
    host: str
    port: int
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = b""
    body_digest: bytes = NO_BODY
    body_size: int = 0
    process_id: int = 0

    @classmethod
    def read(
        cls,
        head: Head,
        *,
        scheme: str,
        host: str,
        port: int,
        body: bytes | None = b"",
        body_digest: bytes | None = None,
        body_size: int | None = None,
        process_id: int = 0,
    ) -> Self:
        """Make one from a head; digest and size are worked out from the body where not given."""
        line = request_line(head)
        absolute = split_absolute(line.target)
        return cls(
            method=_text(line.method),
            scheme=scheme,
            host=host,
            port=port,
            target=_text(absolute[3] if absolute else line.target),
            headers=tuple((_text(name), _text(value)) for name, value in head.headers),
            body=body,
            body_digest=hashlib.sha256(body or b"").digest()
            if body_digest is None
            else body_digest,
            body_size=len(body or b"") if body_size is None else body_size,
            process_id=process_id,
        )

    def with_body(self, body: bytes | None, digest: bytes, size: int) -> "Request":
        """The same head with a body."""
        return Request(
            self.method,
            self.scheme,
            self.host,
            self.port,
            self.target,
            self.headers,
            body,
            digest,
            size,
            self.process_id,
        )

    def header(self, name: str) -> str:
        """The values of a header, joined as RFC 9110 section 5.3 has it; `name` in lower case."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def url(self) -> str:
        """The URL for a person: the default port left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.target}"


Endpoint = tuple[str, str, str, int, str]
"""Method, scheme, host, port, path."""

Fields = tuple[tuple[str, str], ...]
"""What else of a head is in the key: `query:NAME` and `header:NAME` with their values, sorted."""


class HeadKey(Struct, frozen=True):
    """The part of the key that the head gives.

    `strict` holds all fields, `loose` those that no rule leaves out; redacted values are blanked in
    both and stand in `references`.
    """

    endpoint: Endpoint
    strict: Fields
    loose: Fields
    references: References
    call: ModelCall | None


class BodyKey(Struct, frozen=True):
    """The part of the key that the body gives.

    `strict` is the digest of the body in its canonical form, `loose` the same without what rules
    take out (`blanked`); redacted values are blanked in both and stand in `references`.
    """

    form: Form
    coding: str
    strict: bytes
    loose: bytes
    blanked: tuple[Blanked, ...] = ()
    references: References = ()


def head_key(request: Request, rules: Rules) -> HeadKey:
    """The head's part of a request's key."""
    path, references = blank_text(request.path)
    query, in_query = _query_fields(request.query)
    host = canonical_host(request.host)
    strict = tuple(sorted(query + _header_fields(request.headers)))
    loose = strict
    if rules.headers or rules.queries:
        left_out = {f"header:{name}" for name in rules.headers}
        left_out |= {f"query:{name}" for name in rules.queries}
        loose = tuple(field for field in strict if field[0] not in left_out)
    return HeadKey(
        (request.method, request.scheme.lower(), host, request.port, path),
        strict,
        loose,
        references + in_query,
        model_call(request.method, host, path, request.headers),
    )


def _query_fields(query: str) -> tuple[list[tuple[str, str]], References]:
    """A query's parts as a multiset, spelled as sent; its references in the order of that."""
    parts = [blank_text(part) for part in query.split("&") if part]
    parts.sort(key=lambda part: part[0])
    fields = [("query:" + text.partition("=")[0], text) for text, _ in parts]
    return fields, tuple(reference for _, found in parts for reference in found)


def _header_fields(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    fields = []
    for name, value in headers:
        lower = name.lower()
        if lower == "content-type":
            fields.append(("header:content-type", canonical_type(value)))
        elif lower == "accept" or lower in VERSION_HEADERS:
            tokens = sorted(token.strip() for token in value.lower().split(","))
            fields.append((f"header:{lower}", ", ".join(tokens)))
    return fields


def canonical_host(host: str) -> str:
    """Lower case, international names in their ASCII form (IDNA)."""
    lower = host.lower()
    if lower.isascii():
        return lower
    try:
        return lower.encode("idna").decode("ascii")
    except UnicodeError:
        return lower


def canonical_type(value: str) -> str:
    """The media type and its charset; a boundary or any other parameter is left out."""
    media_type = value.partition(";")[0].strip().lower()
    charset = parameter(value, "charset").lower()
    return f"{media_type}; charset={charset}" if charset else media_type


def body_key(request: Request, rules: Sequence[BodyRule]) -> BodyKey:
    """The body's part of a request's key."""
    if request.body is None or request.body_size > READ_LIMIT:
        return BodyKey("bytes", "", request.body_digest, request.body_digest)
    reading = read_body(
        request.body, request.header("content-type"), request.header("content-encoding")
    )
    if reading.form in ("none", "bytes"):
        return _key_of_bytes(reading.form, reading.coding, reading.content)
    try:
        value = reading.value
        references: References = ()
        if b"redacted" in reading.content:
            value, references = blank_value(value)
        value, blanked = blank(value, rules)
        loose = value_digest(value)
    except Unreadable:
        return _key_of_bytes("bytes", reading.coding, reading.content)
    return BodyKey(
        reading.form, reading.coding, _with_blanked(loose, blanked), loose, blanked, references
    )


def _with_blanked(loose: bytes, blanked: Sequence[Blanked]) -> bytes:
    """The digest of the whole: equal where the rest is equal and all that was taken out is."""
    if not blanked:
        return loose
    parts = [item.path.encode("utf-8", "surrogatepass") + b"\0" + item.digest for item in blanked]
    return hashlib.sha256(loose + b"\0".join(parts)).digest()


def _key_of_bytes(form: Form, coding: str, content: bytes) -> BodyKey:
    blanked, references = blank_bytes(content)
    digest = hashlib.sha256(blanked).digest()
    return BodyKey(form, coding, digest, digest, (), references)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
