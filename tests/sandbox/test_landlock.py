"""Landlock: its version is asked for; what it does is seen in `test_ports`."""

import pytest

from rerail.sandbox import kernel, landlock


def test_a_kernel_without_landlock_has_version_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, *arguments: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(kernel, "syscall", refuse)
    assert landlock.version() == 0


@pytest.mark.parametrize(("version", "size"), [(4, 16), (5, 16), (6, 24), (7, 24)])
def test_an_older_kernel_is_given_the_smaller_ruleset(
    monkeypatch: pytest.MonkeyPatch, version: int, size: int
) -> None:
    calls: list[tuple[object, ...]] = []

    def answer(number: int, *arguments: object) -> int:
        calls.append((number, *arguments[1:]))
        return version if arguments[0] is None else 99

    monkeypatch.setattr(kernel, "syscall", answer)
    monkeypatch.setattr(kernel, "prctl", lambda *arguments: 0)
    monkeypatch.setattr("os.close", lambda descriptor: None)
    landlock.restrict([4100], None)
    assert (kernel.LANDLOCK_CREATE_RULESET, size, 0) in calls
    assert calls[-1] == (kernel.LANDLOCK_RESTRICT_SELF, 0)
