"""Credentials inside URLs: user information, query values, and paths of well-known hooks.

Works on any bytes that hold URLs: a whole head, an argument, an error's text. Knows no messages.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from rerail.redact.lazy import Lazy
from rerail.redact.reference import References
from rerail.redact.rules import QueryRules

_USER_INFORMATION = Lazy(rb"(://)([^/?#\s<>\"]+)(?=@)")  # RFC 3986 section 3.2.1
_QUERY_KEY = Lazy(rb"[?&#;]([^=?&#;\s<>\"]{1,80})=(?=[^&#\s<>\"])")
_QUERY_VALUE = Lazy(rb"[^&#\s<>\"]+")
# A URL that is itself a query's value: ?next=https%3A%2F%2Fa.example%2F%3Ftoken%3Dsecret
_NESTED_KEY = Lazy(rb"%(?:3[FfBb]|2[36])([^=?&#;%\s<>\"]{1,80})%3[Dd]")
_NESTED_VALUE = Lazy(rb"(?:(?!%2[36])[^&#\s<>\"])+")

# Services that put the whole credential into the path. What is kept says where it led.
_PATHS: Final = (
    (b"/bot", Lazy(rb"(/(?:file/)?bot)(\d+(?::|%3[Aa])[\w-]{30,})")),  # Telegram's bots
    (b"/services/", Lazy(rb"(/services/)(T\w+/B\w+/\w+)")),  # Slack's incoming web hooks
    (b"/webhooks/", Lazy(rb"(/webhooks/\d+/)([\w-]{30,})")),  # Discord's web hooks
)


class UrlCleaner:
    """Replaces the credentials of all URLs in some bytes; the other bytes stay as they are."""

    __slots__ = ("_references", "_rules")

    def __init__(self, references: References) -> None:
        self._references = references
        self._rules = QueryRules()

    def clean(self, content: bytes) -> bytes:
        """The same bytes with every credential in a URL replaced."""
        if b"@" in content and b"://" in content:
            content = _USER_INFORMATION.compiled.sub(self._user_information, content)
        if b"?" in content or b"&" in content or b";" in content or b"#" in content:
            content = self._queries(content, _QUERY_KEY, _QUERY_VALUE)
        if b"%" in content:
            content = self._queries(content, _NESTED_KEY, _NESTED_VALUE)
        for sign, path in _PATHS:
            if sign in content:
                content = path.compiled.sub(self._path, content)
        return content

    def _user_information(self, match: re.Match[bytes]) -> bytes:
        return match[1] + self._references.of(b"userinfo", match[2])

    def _path(self, match: re.Match[bytes]) -> bytes:
        return match[1] + self._references.of(b"path", match[2])

    def _queries(self, content: bytes, keys: Lazy[bytes], values: Lazy[bytes]) -> bytes:
        parts: list[bytes] = []
        done = 0
        for match in keys.compiled.finditer(content):
            key = match[1]
            if match.start() < done or not self._rules[key]:
                continue
            value = values.compiled.match(content, match.end())
            if value is None:
                continue
            # Decoded, so that the same secret has the same reference in a header.
            made = self._references.of(unquote_to_bytes(key), unquote_to_bytes(value[0]))
            parts += [content[done : match.end()], made]
            done = value.end()
        return b"".join(parts) + content[done:] if parts else content
