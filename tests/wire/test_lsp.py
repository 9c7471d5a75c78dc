"""Messages under `Content-Length`, cut at every place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerail.wire import lsp
from rerail.wire.lsp import LONGEST_CONTENT, LONGEST_HEAD, Messages, NotFramed, framed


@given(contents=st.lists(st.binary(max_size=60), max_size=5), data=st.data())
def test_what_was_framed_is_read_back_wherever_it_is_cut(
    contents: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(map(framed, contents))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    messages = Messages()
    found: list[bytes] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += messages.feed(stream[begin:end])
    assert found == contents
    assert messages.waiting == 0


def test_other_heads_and_other_spellings_are_read() -> None:
    stream = b"content-type: application/vscode-jsonrpc\r\nCONTENT-LENGTH:  2\r\n\r\n{}"
    assert Messages().feed(stream) == [b"{}"]


def test_a_content_may_hold_what_looks_like_a_head() -> None:
    inner = framed(b"{}")
    assert Messages().feed(framed(inner) + framed(b"x")) == [inner, b"x"]


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (LONGEST_CONTENT + 1),
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"x" * LONGEST_HEAD,
    ],
)
def test_what_is_no_message_is_refused(stream: bytes) -> None:
    with pytest.raises(NotFramed):
        Messages().feed(stream)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(stream: bytes) -> None:
    messages = Messages()
    try:
        messages.feed(stream)
    except NotFramed:
        return
    assert messages.waiting <= len(stream)


def test_a_head_of_the_longest_kind_is_waited_for() -> None:
    messages = Messages()
    assert messages.feed(b"x" * (lsp.LONGEST_HEAD - 1)) == []
