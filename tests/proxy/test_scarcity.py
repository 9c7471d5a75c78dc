"""A process that may open few files: connections wait, and that is said once."""

import asyncio
import errno
import resource
from pathlib import Path
from typing import Any

import pytest

from rerail.proxy.certs import Authority
from rerail.proxy.handler import Listening
from rerail.proxy.listeners import allow_more_files, loopback_listener
from rerail.proxy.server import ProxyServer


class Told:
    """A service that nobody reaches."""

    def __init__(self) -> None:
        self.gaps: list[str] = []

    def session(self, *_: Any) -> Any:
        raise AssertionError

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self.gaps.append(f"{what}: {detail}")


def test_a_lack_of_files_is_said_once_and_quietly(
    proxy_ca_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """asyncio would print a traceback for each of a hundred attempts a second."""
    told = Told()

    async def lack() -> None:
        server = ProxyServer(told, Authority.open_or_create(proxy_ca_folder / "ca"))
        await server.listen(loopback_listener(), Listening())
        loop = asyncio.get_running_loop()
        error = OSError(errno.EMFILE, "Too many open files")
        for _ in range(100):
            loop.call_exception_handler({"message": "accept", "exception": error})
        await server.close()

    asyncio.run(lack())
    assert told.gaps == ["connections had to wait: Too many open files"]
    assert capfd.readouterr().err == ""


def test_this_process_may_open_as_many_files_as_it_could() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    try:
        allow_more_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
