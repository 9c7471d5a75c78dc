"""Lines of JSON-RPC, cut at every place."""

import pytest
from msgspec import UNSET

from rerail.wire.jsonrpc import Lines, envelope

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


def test_a_request_has_a_method_and_an_id() -> None:
    found = envelope(REQUEST)
    assert found is not None
    assert (found.method, found.id) == ("tools/list", 1)


def test_a_notification_has_no_id_and_an_answer_no_method() -> None:
    notification = envelope(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    answer = envelope(b'{"jsonrpc":"2.0","id":"a","result":{}}')
    assert notification is not None
    assert notification.id is UNSET
    assert answer is not None
    assert (answer.method, answer.id) == (UNSET, "a")


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b'{"id":1}', b'{"jsonrpc":"1.0","id":1}', b'"\xff"', b"{"]
)
def test_anything_else_is_none(line: bytes) -> None:
    assert envelope(line) is None


def test_lines_are_the_same_wherever_they_are_cut() -> None:
    content = b"one\ntwo\r\n\nfour"
    for cut in range(len(content) + 1):
        lines = Lines()
        found = lines.feed(content[:cut]) + lines.feed(content[cut:])
        assert found == [b"one\n", b"two\r\n", b"\n"]
        assert lines.waiting == 4
        assert lines.end() == b"four"
        assert lines.end() == b""
