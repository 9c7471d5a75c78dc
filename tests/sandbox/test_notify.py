"""What the kernel says of a call that waits, and what is read of its process."""

import ctypes
import os

import pytest

from rerail.sandbox import notify
from rerail.sandbox.machine import ARCHITECTURES

X86 = ARCHITECTURES["x86_64"]


@pytest.mark.parametrize("number", [X86.connect, X86.sendto])
def test_the_address_is_read_from_the_callers_memory(number: int) -> None:
    kept = ctypes.create_string_buffer(b"\x01\x00/run/engine\0and more")
    place = ctypes.addressof(kept)
    arguments = (3, place, 13, 0, place, 13)
    assert (
        notify.address_of(notify.Call(os.getpid(), number, X86.audit, arguments), X86)
        == kept.raw[:13]
    )


def test_a_size_that_lies_is_cut() -> None:
    kept = ctypes.create_string_buffer(500)
    call = notify.Call(os.getpid(), X86.connect, X86.audit, (3, ctypes.addressof(kept), 2**64 - 1))
    assert len(notify.address_of(call, X86)) == notify.LONGEST_ADDRESS


@pytest.mark.parametrize("place", [8, 1 << 62, (1 << 64) - 1])
def test_an_address_that_is_nowhere_is_an_error(place: int) -> None:
    with pytest.raises(OSError):
        notify.address_of(notify.Call(os.getpid(), X86.connect, X86.audit, (3, place, 110)), X86)
