"""System calls by number: errors come as Python's own."""

import errno

import pytest

from rerail.sandbox import kernel


def test_a_refused_call_raises_with_the_systems_number() -> None:
    with pytest.raises(OSError) as caught:
        kernel.unshare(1)
    assert caught.value.errno == errno.EINVAL


def test_an_unknown_call_is_not_implemented() -> None:
    with pytest.raises(OSError) as caught:
        kernel.syscall(4095)
    assert caught.value.errno == errno.ENOSYS


def test_a_bad_option_is_refused() -> None:
    with pytest.raises(OSError) as caught:
        kernel.prctl(99999)
    assert caught.value.errno == errno.EINVAL
