"""Known secrets: found in an environment, and then in any spelling."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rerail.redact.known import KnownSecrets, secrets_in
from rerail.redact.reference import References

REFERENCES = References(b"k" * 32)


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "APIKEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "DB_PASSWORD",
        "PGPASSWORD",
        "DB_PWD",
        "STRIPE_KEY",
        "GITLAB_PAT",
        "NPM_AUTH",
        "MY_CREDENTIAL",
        "signing_passphrase",
    ],
)
def test_a_variable_that_looks_like_a_credential_gives_its_value(name: str) -> None:
    assert secrets_in({name: "  correct-horse-42\n"}) == ("correct-horse-42",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin:/usr/local/bin"),
        ("PWD", "/home/somebody/project"),
        ("OLDPWD", "/home/somebody/project"),
        ("KEYBOARD_LAYOUT", "german-nodeadkeys"),
        ("TOKENIZERS_PARALLELISM", "false-or-something"),
        ("MAX_TOKENS", "123456789012345"),
        ("OPENAI_API_KEY", "short"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/token"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/somebody/creds.json"),
        ("TOKEN_URL", "https://auth.example.com/token"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("SSH_ASKPASS", "/usr/lib/ssh/ssh-askpass"),
        ("XAUTHORITY", "/home/somebody/.Xauthority"),
        ("PUBLIC_KEY", "MFkwEwYHKoZIzj0CAQYI"),
        ("API_KEY_HEADER", "X-My-Service-Key"),
        ("AUTH_TOKEN", "Authorization"),
    ],
)
def test_a_variable_that_only_looks_alike_gives_nothing(name: str, value: str) -> None:
    assert secrets_in({name: value}) == ()


def test_passwords_in_urls_and_connection_strings_are_found() -> None:
    environ = {
        "DATABASE_URL": "postgres://me:long-password-1@db.example/x",
        "STORAGE": "Endpoint=https://x;AccountKey=abcdefghijkl/mn==;Name=x",
        "PLAIN_URL": "https://example.com/?a=b:c@d",
    }
    assert secrets_in(environ) == ("long-password-1", "abcdefghijkl/mn==")


def test_a_value_is_given_once() -> None:
    assert secrets_in({"A_TOKEN": "x" * 20, "B_TOKEN": "x" * 20}) == ("x" * 20,)


def test_every_spelling_of_a_secret_has_the_same_reference() -> None:
    known = KnownSecrets(["a+b/c=d e&f-ghij"], REFERENCES)
    reference = REFERENCES.of(b"secret", b"a+b/c=d e&f-ghij")
    for form in (
        b"a+b/c=d e&f-ghij",
        b"a%2Bb%2Fc%3Dd%20e%26f-ghij",
        b"a%2bb%2fc%3dd%20e%26f-ghij",
        b"a%2Bb/c%3Dd%20e%26f-ghij",
        b"a%2Bb%2Fc%3Dd+e%26f-ghij",
    ):
        assert known.clean(b"<" + form + b">") == b"<" + reference + b">"


def test_the_longer_of_two_secrets_goes_first() -> None:
    known = KnownSecrets(["abcdefgh", "abcdefgh-ijkl"], REFERENCES)
    assert known.clean(b"abcdefgh-ijkl") == REFERENCES.of(b"secret", b"abcdefgh-ijkl")


def test_an_empty_secret_is_none() -> None:
    assert KnownSecrets([""], REFERENCES).clean(b"text") == b"text"


@given(st.text(st.characters(codec="utf-8"), min_size=12, max_size=40), st.binary(), st.binary())
def test_no_known_secret_survives_and_nothing_else_changes(
    secret: str, before: bytes, after: bytes
) -> None:
    plain = secret.encode()
    assume(plain not in before and plain not in after)
    known = KnownSecrets([secret], REFERENCES)
    cleaned = known.clean(before + plain + after)
    assert plain not in cleaned
    if (before + plain + after).count(plain) == 1 and b"%" not in plain + before + after:
        assert cleaned.replace(REFERENCES.of(b"secret", plain), plain) == before + plain + after
