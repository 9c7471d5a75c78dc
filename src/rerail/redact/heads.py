"""Credentials in header sections: whole heads and trailers, every other byte left as it was sent.

Order, case, spacing and line endings stay. A line ends where any recipient might think it does (CR
LF, LF, a lone CR), so that no reading of the head finds a secret. Knows no events.
"""

from rerail.redact.lazy import Lazy
from rerail.redact.reference import References
from rerail.redact.rules import (
    COOKIE_ATTRIBUTES,
    PROTOCOL_KEYS,
    SCHEMES,
    HeaderRule,
    HeaderRules,
)

_BLANK = b" \t\r\n"
_SCHEME = Lazy(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+")
_HARMLESS_ATTRIBUTE = Lazy(rb"[^=,]*|[A-Za-z]{3,9}, [0-9A-Za-z :+-]{1,40}")


class HeadCleaner:
    """Replaces the credentials in header sections."""

    __slots__ = ("_references", "_rules")

    def __init__(self, references: References) -> None:
        self._references = references
        self._rules = HeaderRules()

    def clean(self, raw: bytes, *, start_line: bool = True) -> bytes:
        """The same section with every credential replaced; `start_line` is false for trailers."""
        rules = self._rules
        lines = raw.splitlines(keepends=True)
        rule: HeaderRule | None = None
        what = b""
        changed = False
        for index, line in enumerate(lines):
            if index == 0 and start_line:
                continue
            if rule is not None and line[0] in b" \t":
                # RFC 9112 section 5.2: obs-fold, the value goes on. It is replaced whole: it may
                # begin in the middle of anything.
                lines[index] = self._replaced("value", what, line)
                continue
            name, _, value = line.partition(b":")
            rule = rules[name]
            if rule is not None:
                what = name.strip(_BLANK).lower()
                lines[index] = name + b":" + self._replaced(rule, what, value)
                changed = True
        return b"".join(lines) if changed else raw

    def _replaced(self, rule: HeaderRule, what: bytes, sent: bytes) -> bytes:
        """One line's value with the blanks around it, its credential replaced."""
        value = sent.strip(_BLANK)
        if not value:
            return sent
        before = sent[: sent.index(value)]
        return before + self._value(rule, what, value) + sent[len(before) + len(value) :]

    def _value(self, rule: HeaderRule, what: bytes, value: bytes) -> bytes:
        if rule == "scheme":
            return self._scheme(what, value)
        if rule == "cookie":
            return b";".join(self._pair(part) for part in value.split(b";"))
        if rule == "set-cookie":
            first, *attributes = value.split(b";")
            return b";".join([self._pair(first), *map(self._attribute, attributes)])
        if rule == "protocols":
            return b",".join(self._protocol(part) for part in value.split(b","))
        return self._references.of(what, value)

    def _scheme(self, what: bytes, value: bytes) -> bytes:
        """Keep the word that says how the credential is meant (RFC 9110 section 11.4)."""
        if value.lower() in SCHEMES:
            return value
        match = _SCHEME.compiled.match(value)
        if match is None or match[1].lower() not in SCHEMES:
            return self._references.of(what, value)
        return match[0] + self._references.of(what, value[match.end() :])

    def _pair(self, part: bytes) -> bytes:
        name, equals, value = part.partition(b"=")
        if not equals:
            name, value = b"", part
        kept = value.strip(_BLANK)
        if not kept:
            return part
        before = value[: value.index(kept)]
        after = value[len(before) + len(kept) :]
        return name + equals + before + self._references.of(b"cookie", kept) + after

    def _attribute(self, part: bytes) -> bytes:
        """An attribute stays if it is one (RFC 6265 section 5.2) and hides no second cookie."""
        name, _, value = part.partition(b"=")
        known = name.strip(_BLANK).lower() in COOKIE_ATTRIBUTES
        if known and _HARMLESS_ATTRIBUTE.compiled.fullmatch(value.strip(_BLANK)):
            return part
        return self._pair(part)

    def _protocol(self, part: bytes) -> bytes:
        for beginning in PROTOCOL_KEYS:
            head, found, key = part.partition(beginning)
            if found and key:
                return head + found + self._references.of(b"protocol", key)
        return part
