"""A recorded reply in which the agent finds its own identifiers again."""

import gzip
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.compare.renaming import Renaming
from rerail.playback.echo import in_present_names
from rerail.playback.plan import Plan
from rerail.playback.player import Player
from rerail.wire.http1 import Data, ReplyScanner

Maker = Callable[[], Any]

OLD = "0198f0c2-aaaa-7000-8000-000000000001"
NEW = "0198f0c2-bbbb-7000-8000-00000000000f"
HEX_OLD, HEX_NEW = "00ff11ee", "aa22bb33"


def names() -> Renaming:
    made = Renaming()
    made.adopt({OLD: NEW, HEX_OLD: HEX_NEW, "77aa77bb": "77aa77bb"})
    return made


def head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


def plan(tape_maker: Maker, chunks: list[bytes], raw: bytes, **body: Any) -> Plan:
    maker = tape_maker()
    maker.request({"a": 1})
    maker.reply(chunks, head=raw, **body)
    return Player(maker.finish()).script.plan(1)


def whole(sent: Plan) -> tuple[bytes, bytes]:
    """Head and body of one well-formed reply."""
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    data = b"".join(piece.data for piece in sent.pieces())
    events = scanner.feed(data)
    assert scanner.between_messages
    payload = b"".join(event.payload for event in events if isinstance(event, Data))
    return data.partition(b"\r\n\r\n")[0], payload


def test_names_are_replaced_in_head_and_body_and_counted(tape_maker: Maker) -> None:
    content = f'{{"id":"msg_{OLD}","text":"a\\n{OLD} 77aa77bb"}}'.encode()
    raw = head(f"X-Session: {OLD}", f"Content-Length: {len(content)}")
    used: list[int] = []
    sent = in_present_names(plan(tape_maker, [content], raw), names(), lambda: used.append(1))
    said, body = whole(sent)
    assert body == content.replace(OLD.encode(), NEW.encode())
    assert f"X-Session: {NEW}".encode() in said
    assert len(used) == 2


def test_chunks_stay_where_they_were_also_inside_a_name(tape_maker: Maker) -> None:
    parts = [b"data: " + OLD[:7].encode(), OLD[7:30].encode(), OLD[30:].encode() + b"\n\n"]
    raw = head("Transfer-Encoding: chunked")
    recorded = plan(tape_maker, parts, raw, framing="chunked")
    sent = in_present_names(recorded, names(), lambda: None)
    before, after = list(recorded.pieces()), list(sent.pieces())
    assert [len(piece.data) for piece in before] == [len(piece.data) for piece in after]
    assert whole(sent)[1] == b"data: " + NEW.encode() + b"\n\n"


def test_a_coded_body_is_undone_only_where_a_name_is_in_it(tape_maker: Maker) -> None:
    for content in (f"it is {OLD}".encode(), b"it is nothing"):
        coded = gzip.compress(content)
        raw = head("Content-Encoding: gzip", f"Content-Length: {len(coded)}")
        sent = in_present_names(plan(tape_maker, [coded], raw), names(), lambda: None)
        said, body = whole(sent)
        if OLD.encode() in content:
            assert body == f"it is {NEW}".encode()
            assert b"content-encoding" not in said.lower()
        else:
            assert body == coded
            assert b"Content-Encoding: gzip" in said


def test_without_a_renaming_a_plan_is_itself(tape_maker: Maker) -> None:
    recorded = plan(tape_maker, [OLD.encode()], head(f"Content-Length: {len(OLD)}"))
    assert in_present_names(recorded, Renaming(), lambda: None) is recorded


@pytest.mark.parametrize("coding", ["br-unknown", "gzip"])
def test_a_body_that_cannot_be_undone_is_sent_as_it_was(tape_maker: Maker, coding: str) -> None:
    raw = head(f"Content-Encoding: {coding}", "Content-Length: 9")
    sent = in_present_names(plan(tape_maker, [b"not coded"], raw), names(), lambda: None)
    assert whole(sent)[1] == b"not coded"


TEXTS = st.sampled_from([OLD, HEX_OLD, "77aa77bb", "-", "_", "\\n", " ", "x", "ü", '"', "z" * 300])


@given(st.lists(TEXTS, max_size=12).map("".join), st.lists(st.integers(0, 400), max_size=6))
def test_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    data = text.encode()
    at = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[start:end] for start, end in pairwise(at)]
    made = names()
    together = made.present(data)
    assert len(together) == len(data)
    assert b"".join(made.present_stream(iter(pieces), lambda: None)) == together
