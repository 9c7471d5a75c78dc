"""Secrets whose very text is known: taken from an environment, found in any spelling in any bytes.

Names of variables only say which values to look for; nothing here keeps a variable.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from rerail.redact.lazy import Lazy
from rerail.redact.reference import References
from rerail.redact.rules import HEADERS

SHORTEST: Final = 12
"""Characters; a shorter value would be found where it is not meant."""

_NAMES_A_SECRET = Lazy(
    r"(?:api|access)_?key|token(?!s_|s$|iz)|secret|passw(?:or)?d|passphrase|credential"
    r"|(?:^|_)(?:key|auth|cookie|pat)$|_pwd?$",
    re.IGNORECASE,
)
_NAMES_NO_SECRET = Lazy(
    r"(?:_(?:file|path|dir|url|uri|endpoint|host|header|headers|name|type|sock|socket|command|helper"
    r"|provider|scope|scopes|limit|budget|count|ttl)|public_key|askpass)$"
    r"|^(?:google_application_credentials|xauthority)$",
    re.IGNORECASE,
)
_IN_URL = Lazy(r"://[^/?#\s:@]*:([^/?#\s]+)@")
_IN_CONNECTION = Lazy(r"(?:^|[;\s])(?:\w*key|password|pwd)=([^;\s]+)", re.IGNORECASE)


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of an environment that look like credentials, by their variables' names.

    Also the passwords in any variable's URL or connection string. Values shorter than `SHORTEST`
    are left out.
    """
    found: dict[str, None] = {}
    for name, value in environ.items():
        for secret in _of_variable(name, value):
            if len(secret) >= SHORTEST and secret.lower() not in HEADERS:
                found[secret] = None
    return tuple(found)


def _of_variable(name: str, value: str) -> Iterator[str]:
    if _NAMES_A_SECRET.compiled.search(name) and not _NAMES_NO_SECRET.compiled.search(name):
        yield value.strip()
    if "://" in value:
        yield from _IN_URL.compiled.findall(value)
    if ";" in value:
        yield from _IN_CONNECTION.compiled.findall(value)


class KnownSecrets:
    """Replaces known secrets wherever they stand: as they are, and percent-encoded."""

    __slots__ = ("_encoded", "_plain", "_references")

    def __init__(self, secrets: Iterable[str], references: References) -> None:
        self._references = references
        longest_first = sorted(set(secrets) - {""}, key=len, reverse=True)
        self._plain = [secret.encode("utf-8", "surrogateescape") for secret in longest_first]
        self._encoded = [(form, secret) for secret in self._plain for form in _encodings(secret)]

    def clean(self, content: bytes) -> bytes:
        """The same bytes with every known secret replaced."""
        for secret in self._plain:
            if secret in content:
                content = content.replace(secret, self._references.of(b"secret", secret))
        if b"%" in content or b"+" in content:
            for form, secret in self._encoded:
                if form in content:
                    content = content.replace(form, self._references.of(b"secret", secret))
        return content

    @property
    def longest(self) -> int:
        """Bytes of the longest spelling of a secret, 0 where there is none."""
        spellings = [*self._plain, *(form for form, _ in self._encoded)]
        return max(map(len, spellings), default=0)

    def stand_in(self, content: bytes) -> bool:
        """Whether a known secret stands anywhere in these bytes."""
        if any(secret in content for secret in self._plain):
            return True
        if b"%" not in content and b"+" not in content:
            return False
        return any(form in content for form, _ in self._encoded)


def _encodings(secret: bytes) -> list[bytes]:
    """RFC 3986 section 2.1: the digits of a percent-encoding may be written in either case."""
    forms = [quote(secret, safe=""), quote(secret, safe="/"), quote_plus(secret)]
    forms += [re.sub("%[0-9A-F]{2}", lambda m: m.group().lower(), form) for form in forms]
    return [form for form in dict.fromkeys(form.encode() for form in forms) if form != secret]
