"""What goes onto the tape: every text of every kind of event is free of credentials."""

import timeit
import types
import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.redact import apply
from rerail.redact.apply import Redactor
from rerail.redact.reference import PLACEHOLDER, to_wire
from rerail.tape import records
from rerail.tape.records import Body, Event

KEY = b"k" * 32
SECRET = "sk-proj-AbC_123-xyz/0=9"
REDACTOR = Redactor.create(key=KEY, secrets=[SECRET])
COMMON = {"at": 1, "wall": 2}


def everything_in(event: Event) -> str:
    """Every field, bytes as they are."""
    return str(msgspec.to_builtins(event, builtin_types=(bytes,)))


@pytest.mark.parametrize(
    "event",
    [
        records.RunStarted(
            run_id="r",
            task_id="t",
            writer="w",
            argv=["a", "--header", f"x={SECRET}", "--api-key", "another-secret-" + SECRET],
            cwd=f"/{SECRET}",
            capture={"clock": f"no: {SECRET}"},
            facts={"home": SECRET},
            parent=records.Parent(
                tape_id="t", edits=[records.Edit(step=1, kind="hint", text=f"use {SECRET}")]
            ),
            **COMMON,
        ),
        records.RunEnded(status=1, reason=SECRET, **COMMON),
        records.RunLost(reason=SECRET, **COMMON),
        records.CaptureMissing(what=SECRET, detail=f"to https://u:{SECRET}@a/", **COMMON),
        records.ProcessStarted(process_id=1, argv=["x", SECRET], cwd=SECRET, **COMMON),
        records.ConnectionFailed(
            connection_id=1,
            host=f"{SECRET}.example",
            port=1,
            phase="tls",
            reason=SECRET,
            error=f"no route to ?key={SECRET}",
            **COMMON,
        ),
        records.HttpRequest(
            exchange_id=1,
            connection_id=1,
            scheme="http",
            host=SECRET,
            port=80,
            head=f"GET /{SECRET} HTTP/1.1\r\nX-Else: <{SECRET}>\r\n\r\n".encode(),
            body=Body(digest=b"d", size=1, trailers=f"X-Api-Key: {SECRET}\r\n".encode()),
            **COMMON,
        ),
        records.HttpRequestBody(
            exchange_id=1,
            body=Body(digest=b"d", size=1, chunk_lines=f"5;x={SECRET}\r\n".encode()),
            **COMMON,
        ),
        records.HttpReplyHead(
            exchange_id=1, head=f"HTTP/1.1 200 {SECRET}\r\n\r\n".encode(), **COMMON
        ),
        records.HttpReplyBody(
            exchange_id=1, body=Body(digest=b"d", size=1, trailers=SECRET.encode()), **COMMON
        ),
        records.HttpFailed(exchange_id=1, ended="reset", reason=SECRET, **COMMON),
        records.WsOpened(exchange_id=1, extensions=SECRET, **COMMON),
        records.WsClosed(exchange_id=1, sender="agent", code=4000, reason=SECRET, **COMMON),
        records.TunnelOpened(connection_id=1, host=SECRET, port=1, why=SECRET, **COMMON),
        records.TunnelClosed(
            connection_id=1,
            sent=Body(digest=b"d", size=1, trailers=SECRET.encode()),
            received=Body(digest=b"d", size=1, trailers=SECRET.encode()),
            **COMMON,
        ),
        records.WorkspaceSnapshot(
            folder=f"/{SECRET}",
            tree=b"d",
            tree_size=1,
            why="start",
            not_captured=[records.NotCaptured(path=SECRET, why=f"cannot be read: {SECRET}")],
            late=[SECRET],
            **COMMON,
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_known_secret_survives_in_no_text_of_an_event(event: Event) -> None:
    assert SECRET in everything_in(event)
    assert SECRET not in everything_in(REDACTOR.record(event).event)


def texts_of(kind: type[Event]) -> set[str]:
    """The fields of a kind that can hold text which came from outside."""
    own = {field.name: field.type for field in msgspec.structs.fields(kind)}
    bodies = (Body, Body | None, typing.Optional[Body])  # noqa: UP045
    parents = (records.Parent | None, typing.Optional[records.Parent])  # noqa: UP045
    lists = (list[str], dict[str, str], list[records.NotCaptured], *parents)
    plain = {name for name, type_ in own.items() if type_ in (str, bytes, *lists)}
    return plain - CHOSEN_BY_US | {name for name, type_ in own.items() if type_ in bodies}


CHOSEN_BY_US = {
    "run_id", "task_id", "writer", "scheme", "shown", "content", "frames", "witness", "seed",
    "tree", "proposal_ref", "base", "read_ref", "reported_ref", "wanted_digest", "digest",
    "approval_id", "attempt_id", "hold_id", "tape_id",
    "token", "value",
}  # fmt: skip


def test_every_text_of_every_kind_is_cleaned_or_is_ours() -> None:
    kinds = typing.get_args(records.AnyEvent)
    assert isinstance(records.AnyEvent, types.UnionType)
    assert len(kinds) > 15
    for kind in kinds:
        cleaned = set(apply._FIELDS.get(kind, {}))
        named_by_the_user = {"environment"}
        assert texts_of(kind) - named_by_the_user == cleaned, kind


def test_variables_named_by_the_user_are_kept() -> None:
    started = records.RunStarted(
        run_id="r", task_id="t", writer="w", argv=[], cwd="/", environment={"A": SECRET}, **COMMON
    )
    assert REDACTOR.record(started).event is started


def test_an_event_without_credentials_is_kept_as_it_is() -> None:
    event = records.HttpReplyHead(exchange_id=1, head=b"HTTP/1.1 200 OK\r\n\r\n", **COMMON)
    assert REDACTOR.record(event).event is event


def test_a_body_passes() -> None:
    assert REDACTOR.body(SECRET.encode()) == SECRET.encode()


def passed(pieces: list[bytes]) -> bytes | None:
    """What a check lets through of a file in these pieces, None where it stops it."""
    check = REDACTOR.file()
    found = [check.piece(piece) for piece in pieces]
    return None if None in found else b"".join(piece or b"" for piece in found)


@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(1, 40))
@pytest.mark.parametrize("secret", [SECRET.encode(), b"sk-proj-AbC_123-xyz%2F0%3D9"])
def test_a_file_with_a_known_secret_does_not_pass_wherever_it_is_cut(
    secret: bytes, before: bytes, after: bytes, size: int
) -> None:
    content = before + secret + after
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    assert passed(pieces) is None


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_other_file_passes_as_it_is(pieces: list[bytes]) -> None:
    assert passed(pieces) == b"".join(pieces)


def test_without_secrets_every_file_passes() -> None:
    assert Redactor.create(key=KEY).file().piece(SECRET.encode()) == SECRET.encode()


def test_the_reference_of_a_secret_is_the_same_in_a_header_a_query_and_an_argument() -> None:
    redactor = Redactor.create(key=KEY)
    found = PLACEHOLDER.compiled.findall(
        redactor.head(b"GET /?key=abc123 HTTP/1.1\r\nAuthorization: Bearer abc123\r\n\r\n")
        + "".join(redactor.arguments(["--api-key", "abc123def", "--token=abc123"])).encode()
    )
    digits = [pair[1] for pair in found]
    assert digits[0] == digits[1] == digits[3]
    assert digits[2] != digits[0]


def test_the_key_decides_the_reference() -> None:
    head = b"GET / HTTP/1.1\r\nX-Api-Key: abc\r\n\r\n"
    assert Redactor.create(key=b"a").head(head) != Redactor.create(key=b"b").head(head)


def test_a_redacted_reply_played_back_and_sent_back_keeps_its_reference() -> None:
    """The cookie of a recorded reply, as a client of the replay returns it."""
    recorded = REDACTOR.head(b"HTTP/1.1 200 OK\r\nSet-Cookie: s=1234; Path=/\r\n\r\n")
    played = to_wire(recorded)
    value = played.partition(b"s=")[2].partition(b";")[0]
    replaying = Redactor.create(key=b"another run's key")
    sent = replaying.head(b"GET / HTTP/1.1\r\nCookie: s=" + value + b"\r\n\r\n")
    assert PLACEHOLDER.compiled.findall(sent) == PLACEHOLDER.compiled.findall(recorded)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"401 for Bearer {SECRET[:10]}zz1", "401 for Bearer "),
        ("curl -H 'X: bearer abcdefgh12345678' x", "curl -H 'X: bearer "),
        ("cannot reach https://u:p@h/", "cannot reach https://"),
    ],
)
def test_a_text_loses_its_credentials(text: str, kept: str) -> None:
    cleaned = REDACTOR.text(text)
    assert cleaned.startswith(kept + "⟦redacted:")


@pytest.mark.parametrize(
    "text",
    [
        'Bearer realm="https://a", error="invalid_token"',
        'Bearer authorization_uri2="https://login"',
        "Bearer authentication required",
        "not UTF-8: \udcff",
        "",
    ],
)
def test_a_text_without_credentials_is_the_same_object(text: str) -> None:
    assert REDACTOR.text(text) is text


def test_trailers_are_cleaned_from_their_first_line() -> None:
    assert REDACTOR.fields(b"X-Api-Key: abc\r\n").startswith("X-Api-Key: ⟦".encode())


@given(st.binary(max_size=300))
def test_cleaning_twice_changes_nothing_more(raw: bytes) -> None:
    once = REDACTOR.head(raw)
    assert REDACTOR.head(once) == once


PIECE = st.from_regex(rb"[A-Za-z0-9 :;=&?/%,<>\"\r\n\t-]{0,40}", fullmatch=True)


@given(PIECE, PIECE, st.sampled_from([SECRET.encode(), b"sk-proj-AbC_123-xyz%2F0%3D9"]))
def test_a_known_secret_survives_at_no_place_of_a_head(
    before: bytes, after: bytes, secret: bytes
) -> None:
    assert secret not in REDACTOR.head(before + secret + after)


def test_a_head_without_credentials_costs_microseconds() -> None:
    """A guard against a slip of an order of magnitude; the figure itself belongs to the bench."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\n" + b"".join(
        b"X-Stainless-Header-%d: a usual value of a header\r\n" % number for number in range(15)
    )
    best = min(timeit.repeat(lambda: REDACTOR.head(head), number=200, repeat=5)) / 200
    assert best < 200e-6


def test_a_text_that_comes_again_is_cleaned_again() -> None:
    redactor = Redactor.create(key=b"key", secrets=["a-secret-of-the-run"])
    for text, hides in (("api.example.com", False), ("no host: a-secret-of-the-run", True)) * 2:
        assert (redactor.text(text) != text) == hides
    for number in range(3000):
        redactor.text(f"host {number}")
    assert redactor.text("no host: a-secret-of-the-run") != "no host: a-secret-of-the-run"


@pytest.mark.parametrize("stray", ["\ud800", "\udce9 \ud83d"])
def test_a_text_with_a_stray_surrogate_is_spelled_out_and_cleaned(stray: str) -> None:
    """A program's words, an error's text: what is no Unicode stands in many of them."""
    spelled = stray.encode("utf-8", "backslashreplace").decode()
    assert REDACTOR.text(f"{stray} in {SECRET}").startswith(f"{spelled} in ⟦redacted:secret:")
    assert REDACTOR.text(f"{stray} alone") == f"{spelled} alone"
    [name, reference] = REDACTOR.arguments(["--api-key", f"sk-{stray}-0123456789"])
    assert name == "--api-key"
    assert PLACEHOLDER.compiled.fullmatch(reference.encode())
