"""Heads: credentials go in any position, case and spacing; every other byte stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.redact.heads import HeadCleaner
from rerail.redact.reference import PLACEHOLDER, References

CLEANER = HeadCleaner(References(b"k" * 32))


def cleaned(raw: bytes, *, start_line: bool = False) -> bytes:
    """The section with the digits of each reference left out."""
    return PLACEHOLDER.compiled.sub(rb"<\1>", CLEANER.clean(raw, start_line=start_line))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"Authorization: Bearer abc\r\n", b"Authorization: Bearer <authorization>\r\n"),
        (b"aUTHORIZATION:Basic   abc=  \r\n", b"aUTHORIZATION:Basic   <authorization>  \r\n"),
        (b"Authorization : \t Bearer abc\n", b"Authorization : \t Bearer <authorization>\n"),
        (b"Authorization: abc def\r\n", b"Authorization: <authorization>\r\n"),
        (b"Authorization: sk-123\r\n", b"Authorization: <authorization>\r\n"),
        (b"Authorization: Negotiate\r\n", b"Authorization: Negotiate\r\n"),
        (b"Authorization:\r\n", b"Authorization:\r\n"),
        (
            b'Authorization: Digest username="u", response="r"\r\n',
            b"Authorization: Digest <authorization>\r\n",
        ),
        (b"X-Api-Key: a b c", b"X-Api-Key: <x-api-key>"),
        (
            b"Cookie: a=1; b=2;c = 3 ;d\r\n",
            b"Cookie: a=<cookie>; b=<cookie>;c = <cookie> ;<cookie>\r\n",
        ),
        (b"Cookie: a=; =b; \r\n", b"Cookie: a=; =<cookie>; \r\n"),
        (b'Cookie: a="x y"=z\r\n', b"Cookie: a=<cookie>\r\n"),
        (
            b"Set-Cookie: a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly\r\n",
            b"Set-Cookie: a=<cookie>; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly\r\n",
        ),
        (
            b"Set-Cookie: a=1; Path=/, b=2; Secure\r\n",
            b"Set-Cookie: a=<cookie>; Path=<cookie>; Secure\r\n",
        ),
        (b"Set-Cookie: a=1; New=x\r\n", b"Set-Cookie: a=<cookie>; New=<cookie>\r\n"),
        (
            b"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sk-1, v1\r\n",
            b"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.<protocol>, v1\r\n",
        ),
        (b"Sec-WebSocket-Protocol: mcp\r\n", b"Sec-WebSocket-Protocol: mcp\r\n"),
        # Continuation lines (RFC 9112 section 5.2) of a credential go whole.
        (
            b"Authorization: Bearer\r\n abc\r\n\tdef\r\nHost: a\r\n\r\n",
            b"Authorization: Bearer\r\n <authorization>\r\n\t<authorization>\r\nHost: a\r\n\r\n",
        ),
        (b"Cookie: a=1\n b=2; c=3\n", b"Cookie: a=<cookie>\n <cookie>\n"),
        # No reading of line ends finds a secret.
        (b"A: b\rAuthorization: Bearer x\r\n", b"A: b\rAuthorization: Bearer <authorization>\r\n"),
        (b"A: b\n Authorization: Bearer x\n", b"A: b\n Authorization: Bearer <authorization>\n"),
        (b"\tAuthorization: Bearer x\n", b"\tAuthorization: Bearer <authorization>\n"),
        (b"Host: a\r\nno colon\r\n\r\n", b"Host: a\r\nno colon\r\n\r\n"),
        (b"", b""),
        (b"\r\n", b"\r\n"),
    ],
)
def test_a_credential_is_replaced_and_the_rest_stays(raw: bytes, expected: bytes) -> None:
    assert cleaned(raw) == expected


def test_the_start_line_is_no_header() -> None:
    assert cleaned(b"X-Api-Key: 1\r\nX-Api-Key: 2\r\n", start_line=True) == (
        b"X-Api-Key: 1\r\nX-Api-Key: <x-api-key>\r\n"
    )


def test_the_same_secret_has_the_same_reference_everywhere() -> None:
    raw = b"X-Api-Key: k1\r\nx-api-key:k1\r\nX-Api-Key: k2\r\n"
    one, two, three = PLACEHOLDER.compiled.findall(CLEANER.clean(raw, start_line=False))
    assert one == two != three


def test_a_cookie_comes_back_under_the_reference_it_was_set_with() -> None:
    (given_,) = PLACEHOLDER.compiled.findall(
        CLEANER.clean(b"Set-Cookie: s=1\r\n", start_line=False)
    )
    (sent,) = PLACEHOLDER.compiled.findall(CLEANER.clean(b"Cookie: s=1\r\n", start_line=False))
    assert given_ == sent


def test_a_head_without_credentials_is_the_same_object() -> None:
    raw = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert CLEANER.clean(raw) is raw


BLANKS = st.text(" \t", max_size=3).map(str.encode)
SECRET = st.from_regex(rb"[A-Za-z0-9+/=._~!@#$%&*:-]{16,60}", fullmatch=True)
# No k, t or w: no name of a secret can be spelled.
PLAIN = st.from_regex(rb"X-[A-JL-SUVX-Za-jl-suvx-z]{1,9}: [ -~]{0,30}", fullmatch=True)
END = st.sampled_from([b"\r\n", b"\n", b"\r"])


@st.composite
def spelled(draw: st.DrawFn, name: bytes) -> bytes:
    flips = draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    letters = [name[i : i + 1].upper() if flip else name[i : i + 1] for i, flip in enumerate(flips)]
    return b"".join(letters)


@st.composite
def secret_lines(draw: st.DrawFn, secret: bytes) -> list[bytes]:
    """One header that carries the secret, on one line or folded onto the next."""
    plain, beginning = draw(
        st.sampled_from(
            [
                (b"authorization", b"Bearer "),
                (b"authorization", b""),
                (b"proxy-authorization", b"Basic "),
                (b"x-api-key", b""),
                (b"x-goog-api-key", b""),
                (b"cookie", b"sid="),
                (b"cookie", b"a=1; sid="),
                (b"set-cookie", b"sid="),
                (b"x-some-service-token", b""),
            ]
        )
    )
    name = draw(spelled(plain)) + draw(BLANKS)
    if draw(st.booleans()):
        return [name + b":" + draw(BLANKS) + beginning + secret + draw(BLANKS)]
    return [name + b":" + beginning, draw(st.sampled_from([b" ", b"\t "])) + secret]


@given(st.data())
def test_no_secret_survives_in_any_position_case_or_spacing(data: st.DataObject) -> None:
    secret = data.draw(SECRET)
    before, after = data.draw(st.lists(PLAIN, max_size=5)), data.draw(st.lists(PLAIN, max_size=5))
    end = data.draw(END)
    lines = [*before, *data.draw(secret_lines(secret)), *after, b""]
    raw = b"GET / HTTP/1.1" + end + end.join(lines) + end
    result = CLEANER.clean(raw)
    assert secret not in result
    untouched = result.split(end)
    assert untouched[1 : 1 + len(before)] == before
    assert untouched[len(untouched) - 2 - len(after) : -2] == after


@given(st.binary(max_size=300))
def test_cleaning_twice_changes_nothing_more(raw: bytes) -> None:
    once = CLEANER.clean(raw)
    assert CLEANER.clean(once) == once


@given(st.lists(st.tuples(PLAIN, END), max_size=12))
def test_bytes_without_credentials_are_unchanged(lines: list[tuple[bytes, bytes]]) -> None:
    raw = b"GET / HTTP/1.1\r\n" + b"".join(line + end for line, end in lines)
    assert CLEANER.clean(raw) == raw
