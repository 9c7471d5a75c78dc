"""Which architecture this is, and what its calls are numbered."""

import platform
import re
from pathlib import Path

import pytest

from rerail.sandbox.machine import ARCHITECTURES, here

HEADERS = Path("/usr/include")


def test_the_architecture_is_the_machines_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert here() == ARCHITECTURES["aarch64"]


@pytest.mark.parametrize(("system", "machine"), [("Linux", "pdp11"), ("Darwin", "x86_64")])
def test_elsewhere_the_numbers_are_not_known(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert here() is None


@pytest.mark.parametrize(
    ("machine", "header", "prefix"),
    [
        ("x86_64", "unistd_64.h", ""),
        ("x86_64", "unistd_32.h", "foreign_"),
        ("aarch64", "unistd.h", ""),
    ],
)
def test_the_numbers_are_those_of_the_kernels_headers(
    machine: str, header: str, prefix: str
) -> None:
    folder = "asm-generic" if machine == "aarch64" else "asm"
    found = next(HEADERS.glob(f"*-linux-gnu/{folder}/{header}"), HEADERS / folder / header)
    if not found.is_file() or (machine == "x86_64" and platform.machine() != "x86_64"):
        pytest.skip("these headers are not installed")
    numbers = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", found.read_text()))
    names = ("socket", "connect", "sendto") if prefix else (
        "socket", "connect", "sendto", "sendmsg", "sendmmsg", "seccomp", "pivot_root",
    )  # fmt: skip
    for name in names:
        assert getattr(ARCHITECTURES[machine], prefix + name) == int(numbers[name]), name


@pytest.mark.parametrize(
    ("machine", "folder", "header"),
    [("x86_64", "asm", "unistd_64.h"), ("aarch64", "asm-generic", "unistd.h")],
)
def test_the_calls_that_change_files_too(machine: str, folder: str, header: str) -> None:
    found = next(HEADERS.glob(f"*-linux-gnu/{folder}/{header}"), HEADERS / folder / header)
    if not found.is_file() or (machine == "x86_64" and platform.machine() != "x86_64"):
        pytest.skip("these headers are not installed")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", found.read_text()))
    files = ARCHITECTURES[machine].files
    assert files == {name: int(numbers[name]) for name in files}
