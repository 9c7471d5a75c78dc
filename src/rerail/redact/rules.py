"""The table: which names carry credentials. Names only; knows nothing of values and of messages.

A header errs towards redaction, for it is no part of what a request is matched by. What must stay
is listed with its reason: counters, challenges, keys that are no secret, places in a listing.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import unquote_to_bytes

from rerail.redact.lazy import Lazy

HeaderRule = Literal["value", "scheme", "cookie", "set-cookie", "protocols"]
"""How a header's value is replaced: all of it; all but the scheme's word (`Bearer …`); each
cookie's value; the cookie's value but not its attributes; the parts that hold a key."""

HEADERS: Final[Mapping[str, HeaderRule | None]] = {
    "authorization": "scheme",
    "proxy-authorization": "scheme",
    "authentication": "scheme",
    "x-authorization": "scheme",
    "cookie": "cookie",
    "cookie2": "cookie",
    "set-cookie": "set-cookie",
    "set-cookie2": "set-cookie",
    "sec-websocket-protocol": "protocols",  # browsers can send a key in no other header
    "x-key": "value",
    "x-amzn-oidc-data": "value",
    "dpop": "value",
    # A random number of the handshake and its echo (RFC 6455 section 1.3): no secret.
    "sec-websocket-key": None,
    "sec-websocket-accept": None,
    "idempotency-key": None,
    # It tells a browser whether it may send credentials, and holds none.
    "access-control-allow-credentials": None,
    "authentication-info": None,
    "proxy-authentication-info": None,
}

QUERY_KEYS: Final = frozenset(
    {
        "key", "token", "auth", "sig", "signature", "password", "passwd", "pwd", "secret", "jwt",
        "appid", "hapikey", "jsessionid", "awsaccesskeyid", "client-assertion", "assertion",
    }
)  # fmt: skip
"""Query keys, in lower case, that carry a credential though `names_a_secret` does not say so."""

SCHEMES: Final = frozenset(
    {
        # IANA's registry of HTTP authentication schemes
        b"basic", b"bearer", b"concealed", b"digest", b"dpop", b"gnap", b"hoba", b"mutual",
        b"negotiate", b"oauth", b"privatetoken", b"scram-sha-1", b"scram-sha-256", b"vapid",
        # in use without being registered
        b"api-key", b"apikey", b"apitoken", b"aws4-hmac-sha256", b"bot", b"genie", b"googlelogin",
        b"goog4-rsa-sha256", b"hawk", b"key", b"ntlm", b"sharedaccesssignature", b"sharedkey",
        b"signature", b"snowflake", b"splunk", b"ssws", b"token",
    }
)  # fmt: skip

COOKIE_ATTRIBUTES: Final = frozenset(
    {
        b"expires", b"max-age", b"domain", b"path", b"secure", b"httponly", b"samesite",
        b"partitioned", b"priority", b"version", b"comment",
    }
)  # fmt: skip

PROTOCOL_KEYS: Final = (b"openai-insecure-api-key.", b"base64url.bearer.authorization.k8s.io.")
"""Beginnings of WebSocket subprotocols whose rest is a key."""

_SECRET = Lazy(
    r"""
    api-?key | authorization | token(?!s\b|iz) | secret | passw(?:or)?d | passphrase | credential
    | jwt | (?:^|-)auth$ | -signature$
    | (?:access|account|app|application|auth|client|customer|encryption|functions?|license|master
        |private|service|session|shared|signing|subscription) -? key $
    """,
    re.VERBOSE,
)
_NO_SECRET = Lazy(
    r"""
    rate-?limit  # counters: x-ratelimit-remaining-tokens
    | ^access-control-
    | csrf | xsrf | idempoten  # they mean nothing without the cookie or key beside them
    | (?:page|next|continuation|cursor|sync|delta|skip|pagination) -? token  # places in a listing
    | ^(?:x-hub|x-slack|x-twilio|stripe|webhook) .* signature  # of a body, and good for it alone
    | - (?:count|limit|remaining|reset|usage|used|budget|type|url|uri|endpoint|length|size|policy
        |expires|expiry|ttl|version|algorithm|status|name|file|path|dir) $
    """,
    re.VERBOSE,
)
_HUMP = Lazy(r"(?<=[a-z0-9])(?=[A-Z])")
_REMEMBERED = 4096


def names_a_secret(name: str) -> bool:
    """Whether a name, in any common spelling, says that its value is a credential."""
    plain = _HUMP.compiled.sub("-", name).lower().replace("_", "-").replace(".", "-")
    return bool(_SECRET.compiled.search(plain)) and not _NO_SECRET.compiled.search(plain)


def header_rule(name: bytes) -> HeaderRule | None:
    """How the value of a header is replaced, None where it stays. Case and blanks do not count."""
    plain = name.decode("latin-1").strip().lower()
    if plain in HEADERS:
        return HEADERS[plain]
    if plain.endswith("authorization") and names_a_secret(plain):
        return "scheme"
    return "value" if names_a_secret(plain) else None


def is_secret_query_key(name: bytes) -> bool:
    """Whether the value of this query key is a credential."""
    plain = unquote_to_bytes(name).decode("latin-1")
    return plain.lower().replace("_", "-") in QUERY_KEYS or names_a_secret(plain)


class HeaderRules(dict[bytes, HeaderRule | None]):
    """`header_rule`, remembered by the name as sent; forgets all when it saw too many."""

    def __missing__(self, name: bytes) -> HeaderRule | None:
        rule = header_rule(name)
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(name) <= 64:
            self[name] = rule
        return rule


class QueryRules(dict[bytes, bool]):
    """`is_secret_query_key`, remembered by the key as sent; forgets all when it saw too many."""

    def __missing__(self, name: bytes) -> bool:
        rule = is_secret_query_key(name)
        if len(self) >= _REMEMBERED:
            self.clear()
        self[name] = rule
        return rule
