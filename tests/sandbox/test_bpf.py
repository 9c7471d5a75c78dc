"""Filter programs: encoded as the kernel reads them, jumps resolved. A small machine runs them."""

import struct

import pytest

from rerail.sandbox.bpf import ALLOW, NUMBER, Program, argument, refuse


def instructions(encoded: bytes) -> list[tuple[int, int, int, int]]:
    return [struct.unpack_from("=HBBI", encoded, at) for at in range(0, len(encoded), 8)]


def test_a_jump_counts_the_instructions_it_passes() -> None:
    program = Program()
    program.load(NUMBER)
    program.when_equal(41, "refused")
    program.end(ALLOW)
    program.label("refused")
    program.end(refuse(13))
    assert instructions(program.encode()) == [
        (0x20, 0, 0, 0),
        (0x15, 1, 0, 41),
        (0x06, 0, 0, 0x7FFF0000),
        (0x06, 0, 0, 0x0005000D),
    ]


def test_arguments_are_found_by_their_low_half() -> None:
    assert [argument(index) for index in range(3)] == [16, 24, 32]


def test_a_jump_backwards_cannot_be_encoded() -> None:
    program = Program()
    program.label("again")
    program.load(NUMBER)
    program.when_equal(1, "again")
    with pytest.raises(struct.error):
        program.encode()


def test_a_label_that_is_nowhere_cannot_be_encoded() -> None:
    program = Program()
    program.when_equal(1, "nowhere")
    with pytest.raises(KeyError):
        program.encode()
