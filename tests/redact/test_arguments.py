"""Arguments: credentials go, programs and file names come through unharmed."""

import re

import pytest

from rerail.redact.arguments import ArgumentCleaner
from rerail.redact.reference import References

CLEANER = ArgumentCleaner(References(b"k" * 32))
SECRET = "sk-live-0123456789"


def cleaned(argv: list[str]) -> list[str]:
    return [
        re.sub("⟦redacted:([a-z-]+):.*⟧", r"<\1>", argument) for argument in CLEANER.clean(argv)
    ]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["a", "--api-key", SECRET, "x"], ["a", "--api-key", "<api-key>", "x"]),
        (["a", f"--token={SECRET}"], ["a", "--token=<token>"]),
        (["a", "-password", SECRET], ["a", "-password", "<password>"]),
        (["env", f"OPENAI_API_KEY={SECRET}", "a"], ["env", "OPENAI_API_KEY=<openai-api-key>", "a"]),
        (
            ["curl", "-H", f"Authorization: Bearer {SECRET}", "http://x"],
            ["curl", "-H", "Authorization: Bearer <authorization>", "http://x"],
        ),
        (["curl", "-H", f"X-Api-Key:{SECRET}"], ["curl", "-H", "X-Api-Key:<x-api-key>"]),
        (["curl", "-H", "Cookie: a=b"], ["curl", "-H", "Cookie: <cookie>"]),
        (["curl", f"-HX-Api-Key: {SECRET}"], ["curl", "-HX-Api-Key: <x-api-key>"]),
        (["a", f"--header=X-Key: {SECRET}"], ["a", "--header=X-Key: <x-key>"]),
        (
            ["/usr/bin/curl", "-u", "ada:short", "http://x"],
            ["/usr/bin/curl", "-u", "ada:<user>", "http://x"],
        ),
        (["curl", "-su", "ada:a:b", "-U", "p:q"], ["curl", "-su", "ada:<user>", "-U", "p:<user>"]),
        (["timeout", "9", "curl", "-uada:short"], ["timeout", "9", "curl", "-uada:<user>"]),
        (["curl", "--user", f":{SECRET}"], ["curl", "--user", ":<user>"]),
        (["a", "--api-key", "-k3yInBase64url"], ["a", "--api-key", "<api-key>"]),
        (["a", "--api-key", "-KeyOfLetters+/="], ["a", "--api-key", "<api-key>"]),
        (["a", "--api-key", "--k3yInBase64url"], ["a", "--api-key", "<api-key>"]),
    ],
)
def test_a_credential_is_replaced(argv: list[str], expected: list[str]) -> None:
    assert cleaned(argv) == expected


@pytest.mark.parametrize(
    "argv",
    [
        ["python3", "-c", "token: int = 1\npassword = input()"],
        ["python3", "agent.py", "--max-tokens", "123456789"],
        ["a", "--ask-password", "long-script-name-here"],
        ["a", "--no-token", "positional-argument"],
        ["a", "--token", "--verbose"],
        ["a", "--token", "--someLongOption=value-1"],
        ["a", "--token", "-long-option=value-1"],
        ["a", "--token", "-Xmx512m"],
        ["a", "-Header: of nothing"],
        ["a", "--secret", "settings/secrets.yaml"],
        ["a", "--token-file", "/home/somebody/token-of-mine"],
        ["a", "--password", "short"],
        ["curl", "-u", "ada", "http://x"],
        ["docker", "run", "-u", "1000:1000", "image"],
        ["sh", "-c", 'curl -H "Authorization: Bearer $TOKEN" http://x'],
        ["a", "--keyword=something-longer"],
        ["a", "--token="],
        ["a", "Note: this is only a text"],
        ["a", "--api-key"],
        [],
    ],
)
def test_what_may_be_something_else_comes_through_unharmed(argv: list[str]) -> None:
    assert CLEANER.clean(argv) == argv


def test_bytes_that_are_no_text_come_through() -> None:
    assert CLEANER.clean(["--token=\udcff" + SECRET])[0].startswith("--token=⟦")
