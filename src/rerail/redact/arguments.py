"""Credentials in the arguments of a command: `--token X`, `-H 'Name: X'`, `NAME=X`, curl's `-u`.

An argument is replaced only where its form leaves no doubt: a replay runs the command again, and a
program's text or a file's name must come through unharmed. Knows no processes.
"""

import re

from rerail.redact.lazy import Lazy
from rerail.redact.reference import References
from rerail.redact.rules import header_rule, names_a_secret

_OPTION = Lazy(r"--?([A-Za-z][\w.-]*)")
_ASSIGNED = Lazy(r"(-{0,2}([A-Za-z_][\w.-]*)=)(\S.*)", re.DOTALL)
_HEADER = Lazy(r"((?:--[A-Za-z][\w-]*=|-H)?([A-Za-z][\w-]*):[ \t]*)(\S[^\r\n]*)")
_SWITCH = Lazy(r"(?:no|ask|prompt|show|use|with|without|allow|require|skip|print|new)[-_]")
# The next option, a file, something short. What begins with a dash and is neither a word nor short
# is a value: one in 64 of the keys that are written in base64url begins so.
_NO_VALUE = Lazy(
    r"--[A-Za-z][A-Za-z-]*(?:=.*)?|-[A-Za-z][a-z-]*(?:=.*)?|-.{0,10}"
    r"|.*\.(?:py|js|mjs|cjs|ts|sh|rb|go|json|ya?ml|toml|txt|pem|key|crt)|.{0,7}",
    re.DOTALL,
)
_OF_CURL = Lazy(r"-[A-Za-z]*[uU]|--user|--proxy-user")
_USER = Lazy(r"([^:]*:)(.+)", re.DOTALL)
_USER_ATTACHED = Lazy(r"(-[uU][^:]*:)(.+)", re.DOTALL)


class ArgumentCleaner:
    """Replaces the credentials in an argument list."""

    __slots__ = ("_references",)

    def __init__(self, references: References) -> None:
        self._references = references

    def clean(self, argv: list[str]) -> list[str]:
        """The same arguments with every credential replaced."""
        cleaned: list[str] = []
        announced, curl, before = "", False, ""
        for argument in argv:
            user = _user_of_curl(before, argument) if curl else None
            curl = curl or argument.rpartition("/")[2] == "curl"
            before = argument
            if user:
                cleaned.append(user[1] + self._reference("user", user[2]))
            elif announced and not _NO_VALUE.compiled.fullmatch(argument):
                cleaned.append(self._reference(announced, argument))
            else:
                cleaned.append(self._one(argument))
            announced = _announces(argument)
        return cleaned

    def _one(self, argument: str) -> str:
        assigned = _ASSIGNED.compiled.fullmatch(argument)
        if assigned and names_a_secret(assigned[2]):
            return assigned[1] + self._reference(assigned[2], assigned[3])
        header = _HEADER.compiled.fullmatch(argument)
        if header and header_rule(header[2].encode()) in ("value", "scheme", "cookie"):
            return header[1] + self._credential(header[2], header[3])
        return argument

    def _credential(self, name: str, value: str) -> str:
        scheme, blank, rest = value.partition(" ")
        if blank and scheme.isalnum():
            return scheme + blank + self._reference(name, rest)
        return self._reference(name, value)

    def _reference(self, name: str, value: str) -> str:
        try:
            secret = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            secret = value.encode("utf-8", "surrogatepass")
        return self._references.of(name.encode(), secret).decode()


def _user_of_curl(before: str, argument: str) -> re.Match[str] | None:
    """A user's name with its colon, and the password behind it."""
    if _OF_CURL.compiled.fullmatch(before):
        return _USER.compiled.fullmatch(argument)
    return _USER_ATTACHED.compiled.fullmatch(argument)


def _announces(argument: str) -> str:
    """The name of an option whose value, the next argument, is a credential; else nothing."""
    option = _OPTION.compiled.fullmatch(argument)
    if option is None or _SWITCH.compiled.match(option[1]) or not names_a_secret(option[1]):
        return ""
    return option[1]
