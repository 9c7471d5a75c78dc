"""Whether an agent and its child speak JSON-RPC in lines is found out without losing a byte."""

import pytest

from rerail.capture.dialogue import DialogueRecord
from rerail.tape.records import Side
from rerail.wire.jsonrpc import LONGEST_FIRST_LINE

ASKED = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n'
ANSWERED = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


class Kept(list[tuple[Side, bytes]]):
    def __init__(self) -> None:
        self.joined: list[bool] = []

    def __call__(self, sender: Side, line: bytes, joined: bool) -> None:
        self.append((sender, line))
        self.joined.append(joined)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_each_line_is_kept_with_its_sender_wherever_it_is_cut(kept: Kept) -> None:
    for cut in range(1, len(ASKED)):
        kept.clear()
        record = DialogueRecord(kept)
        assert record.passed("stdin", ASKED[:cut], 1)
        assert record.passed("stdin", ASKED[cut:], 2)
        assert record.passed("stdout", ANSWERED + ANSWERED[:5], 3)
        assert record.ended("stdout")
        assert kept == [("agent", ASKED), ("origin", ANSWERED), ("origin", ANSWERED[:5])]
        assert record.given_up() == []


def test_lines_of_one_piece_are_known_as_such(kept: Kept) -> None:
    record = DialogueRecord(kept)
    assert record.passed("stdin", ASKED, 1)
    assert record.passed("stdout", ANSWERED + ANSWERED, 2)
    assert record.passed("stdout", ANSWERED, 3)
    assert kept.joined == [False, False, True, False]


def test_another_first_line_is_given_back_with_its_times(kept: Kept) -> None:
    record = DialogueRecord(kept)
    assert record.passed("stdin", b"SELECT ", 1)
    assert not record.passed("stdin", b"1;\n", 2)
    assert record.given_up() == [(1, b"SELECT "), (2, b"1;\n")]
    assert kept == []


def test_a_child_that_speaks_first_is_no_server(kept: Kept) -> None:
    record = DialogueRecord(kept)
    assert record.passed("stdin", b"{", 1)
    assert not record.passed("stdout", b"welcome\n", 2)
    assert record.given_up() == [(1, b"{")]


def test_what_ends_before_its_first_line_does_is_none(kept: Kept) -> None:
    record = DialogueRecord(kept)
    assert record.passed("stdin", b'{"jsonrpc"', 1)
    assert not record.ended("stdin")
    assert record.given_up() == [(1, b'{"jsonrpc"')]


def test_a_first_line_without_end_is_not_held_for_ever(kept: Kept) -> None:
    record = DialogueRecord(kept)
    piece = b"x" * (LONGEST_FIRST_LINE // 2)
    assert record.passed("stdin", piece, 1)
    assert not record.passed("stdin", piece, 2)
