"""A pipe that is led through the recorder behaves as one pipe."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rerail.proxy.pipes import Copying, PipeEnd


class Line:
    """A writing end, a copy in between, a reading end; what was heard of it."""

    def __init__(
        self, *, first: bytes = b"", congested: Callable[[], bool] = lambda: False
    ) -> None:
        source, self.write = os.pipe()
        self.read, target = os.pipe()
        self.passed: list[bytes] = []
        self.ends: list[PipeEnd] = []
        self.copying = Copying(
            source, target, self.passed.append, self.ends.append, congested, first=first
        )

    async def until(self, ready: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not ready():
                await asyncio.sleep(0)

    async def heard(self, size: int) -> bytes:
        os.set_blocking(self.read, False)
        found = b""
        async with asyncio.timeout(10):
            while len(found) < size:
                await asyncio.sleep(0)
                try:
                    found += os.read(self.read, 1 << 16)
                except BlockingIOError:
                    continue
        return found


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]  # a coroutine function


def test_bytes_go_on_and_are_told_and_the_end_is_passed_on() -> None:
    async def test() -> None:
        line = Line()
        os.write(line.write, b"one")
        assert await line.heard(3) == b"one"
        os.close(line.write)
        await line.until(lambda: line.ends)
        assert os.read(line.read, 1) == b""
        assert (line.passed, line.ends) == ([b"one"], ["complete"])
        assert not line.copying.open
        os.close(line.read)

    run(test)


def test_a_reader_that_waits_makes_the_writer_wait_and_nothing_is_lost() -> None:
    async def test() -> None:
        line = Line()
        os.set_blocking(line.write, False)
        sent = b""
        for _ in range(10_000):
            await asyncio.sleep(0)
            try:
                sent += b"x" * os.write(line.write, b"x" * 65536)
            except BlockingIOError:
                continue
        assert len(sent) < 1 << 20
        os.close(line.write)
        assert await line.heard(len(sent)) == sent
        await line.until(lambda: line.ends)
        assert line.ends == ["complete"]
        os.close(line.read)

    run(test)


def test_a_reader_that_goes_away_is_noticed_though_nothing_is_written() -> None:
    async def test() -> None:
        line = Line()
        os.close(line.read)
        await line.until(lambda: line.ends)
        assert line.ends == ["reset"]
        with pytest.raises(BrokenPipeError):
            os.write(line.write, b"x")
        os.close(line.write)

    run(test)


def test_what_was_read_before_goes_first() -> None:
    async def test() -> None:
        line = Line(first=b"before ")
        os.write(line.write, b"after")
        assert await line.heard(12) == b"before after"
        assert line.passed == [b"after"]
        line.copying.close()
        os.close(line.read)
        os.close(line.write)

    run(test)


def test_while_the_tape_is_behind_nothing_is_read() -> None:
    async def test() -> None:
        behind = True
        line = Line(congested=lambda: behind)
        os.write(line.write, b"x")
        for _ in range(50):
            await asyncio.sleep(0)
        assert line.passed == []
        behind = False
        assert await line.heard(1) == b"x"
        line.copying.close()
        os.close(line.read)
        os.close(line.write)

    run(test)


def test_closing_takes_what_is_there() -> None:
    async def test() -> None:
        line = Line()
        os.write(line.write, b"last words")
        line.copying.close()
        assert (line.passed, line.ends) == ([b"last words"], ["cut"])
        assert os.read(line.read, 100) == b"last words"
        os.close(line.read)
        os.close(line.write)

    run(test)


def test_whether_the_agent_waits_when_it_writes_is_not_changed() -> None:
    async def test() -> None:
        source, write = os.pipe()
        read, target = os.pipe()
        agents_own = os.dup(target)
        copying = Copying(source, target, lambda piece: None, lambda how: None)
        assert os.get_blocking(agents_own)
        copying.close()
        for descriptor in (write, read, agents_own):
            os.close(descriptor)

    run(test)


def test_what_was_opened_for_reading_alone_is_not_written_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"as it was")

    async def test(flags: int) -> None:
        source, write = os.pipe()
        ends: list[PipeEnd] = []
        Copying(source, os.open(kept, flags), lambda _: None, ends.append, first=b"overwritten")
        os.close(write)
        assert ends == ["reset"]

    for flags in (os.O_RDONLY, os.O_PATH):
        asyncio.run(test(flags))
        assert kept.read_bytes() == b"as it was"
