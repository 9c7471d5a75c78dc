"""Credentials in heads, URLs, arguments and variables: on no tape, in no log, in no spelling."""

import base64
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote, quote_plus

import pytest

from rerail.tape.reader import Tape
from rerail.tape.records import Event
from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.forward_proxy import forward_proxy
from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin
from rerail.testing.replies import redirect, routes, text
from tests.journeys.rail import Rail, Recorded

pytestmark = pytest.mark.journey

HOST = "api.example.com"
PLACES = (
    "bearer", "x-api-key", "query", "plain-query", "basic", "cookie", "set-cookie", "location",
    "variable", "argument", "openai", "proxy",
)  # fmt: skip


@pytest.fixture
def secret() -> dict[str, str]:
    """A secret for each place, with letters that other spellings change."""
    made = {place: f"{secrets.token_urlsafe(9)}+/=@{secrets.token_hex(6)}" for place in PLACES}
    plain = ("bearer", "x-api-key", "plain-query", "cookie", "set-cookie", "location", "openai")
    return made | {place: f"sk-{secrets.token_hex(12)}" for place in plain}


@pytest.fixture
def recorded(
    rail: Rail,
    start_origin: Callable[..., Origin],
    openai_model: SimulatedModel,
    authority: CertificateAuthority,
    secret: dict[str, str],
) -> Recorded:
    """A run of the agent, its recorder logging, and an upstream proxy that wants a password."""

    def signed_in(connection: Connection, request: Request) -> None:
        more = [("Set-Cookie", f"session={secret['set-cookie']}; Path=/")]
        text("in", more=more)(connection, request)

    def sent_on(connection: Connection, request: Request) -> None:
        redirect(f"https://{HOST}/page?access_token={secret['location']}")(connection, request)

    pages = {"/page": signed_in, "/signed-in": sent_on}
    origin = start_origin(routes(pages), tls=authority.leaf(HOST))
    table = {(HOST, 443): origin.address, ("api.openai.com", 443): openai_model.address}
    proxy = start_origin(forward_proxy(credentials=("user", secret["proxy"]), resolve=table))
    (rail.folder / "secrets.json").write_text(json.dumps(secret))
    rail.environment |= {"OPENAI_API_KEY": secret["openai"], "NIGHT_API_KEY": secret["variable"]}
    rail.forget_names()
    address = f"http://user:{quote(secret['proxy'], safe='')}@127.0.0.1:{proxy.port}"
    agent = rail.python("secretive.py", f"https://{HOST}", "secrets.json")
    recorded = rail.record(
        *agent,
        "--api-key",
        secret["argument"],
        before=["--debug"],
        options=["--upstream-proxy", address],
    )
    assert recorded.status == 0, recorded.said
    assert len(recorded.exchanges()) == 10
    return recorded


def test_no_secret_is_on_the_tape_or_in_the_log(recorded: Recorded, secret: dict[str, str]) -> None:
    looked_at = dict(everything(recorded))
    assert any(b"redacted" in content for content in looked_at.values())
    found = [
        f"the {place} secret, {how}, in {where}"
        for where, content in looked_at.items()
        for place, value in secret.items()
        for how, spelled in spellings(value).items()
        if spelled in content
    ]
    assert not found


def test_the_recorders_own_token_is_on_no_tape(rail: Rail) -> None:
    script = "import os; print(os.environ['HTTP_PROXY'])"
    recorded = rail.record(*rail.rerail()[:1], "-c", script, before=["--debug"])
    found = re.fullmatch(r"http://p1:([^@]+)@127.0.0.1:\d+", recorded.text.strip())
    assert found
    assert not [where for where, content in everything(recorded) if found[1].encode() in content]


def test_a_replay_needs_none_of_them(
    rail: Rail, recorded: Recorded, secret: dict[str, str]
) -> None:
    rail.stop_origins()
    rail.environment |= {"OPENAI_API_KEY": "another", "NIGHT_API_KEY": "another"}
    other = {place: f"other-{secrets.token_hex(9)}" for place in PLACES}
    (rail.folder / "secrets.json").write_text(json.dumps(other))
    replayed = rail.replay(recorded.tape, before=["--debug"])
    assert replayed.green, replayed.said
    assert replayed.output == recorded.output
    for value in (*other.values(), *secret.values()):
        assert value not in replayed.said


def everything(recorded: Recorded) -> Iterator[tuple[str, bytes]]:
    """The tape as a file, each event and each content on it undone, and what was said."""
    for path in recorded.tape.parent.glob(f"{recorded.tape.name}*"):
        yield path.name, path.read_bytes()
    yield "the log", recorded.said.encode()
    with Tape.open(recorded.tape) as tape:
        for seq, stored in tape.stored_events():
            yield f"event {seq}", stored
        for event in tape.events():
            for digest in digests(event):
                yield f"content {digest.hex()[:8]} of event {event.seq}", tape.blob(digest)


def digests(event: Event) -> Iterator[bytes]:
    for field in event.__struct_fields__:
        value = getattr(event, field)
        if field == "content" and value:
            yield value
        elif hasattr(value, "digest"):
            yield value.digest


def spellings(value: str) -> Mapping[str, bytes]:
    """The ways in which a secret can be written down."""
    pair = f"user:{value}".encode()
    return {
        "as it is": value.encode(),
        "percent-encoded": quote(value, safe="").encode(),
        "form-encoded": quote_plus(value).encode(),
        "in JSON": json.dumps(value).encode(),
        "in base64": base64.b64encode(value.encode()).rstrip(b"="),
        "with its user, in base64": base64.b64encode(pair).rstrip(b"="),
    }
