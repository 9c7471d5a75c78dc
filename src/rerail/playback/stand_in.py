"""A child of a replay that hands over its descriptors: a shell stands where it would be.

The shell waits to be told (`_rerail_children`): it can still become the real program, as long as
nothing was given. What is given comes in recorded order, not before so many model calls were made,
the child has been told so much and been sent so many signals, as when it was recorded.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from rerail.compare.dialogue import Dialogue
from rerail.playback.casting import Key, Moment, Piece
from rerail.playback.part import ChildTap, Company, Part
from rerail.playback.planned import ignored
from rerail.proxy.pipes import ONE_READ, Copying, of_our_own
from rerail.proxy.said import OUTPUTS, Descriptors, Started
from rerail.tape.records import StreamName
from rerail.wire.jsonrpc import Lines

BETWEEN_LINES_SECONDS: Final = 0.002
PATIENCE_SECONDS: Final = 10.0
"""How much later than recorded something comes, though what it waits for has not come."""


class StandIn(Part):
    """One child: the descriptors around it, and what stands in for it."""

    def __init__(
        self,
        company: Company,
        said: Started,
        known_by: Key,
        tap: ChildTap | None,
        held: Descriptors,
    ) -> None:
        super().__init__(company, said, known_by, tap)
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._control = held.take("control") if held.has("control") else -1
        self._source = held.take("stdin.source") if held.has("stdin.source") else -1
        self.told += held.file("stdin") or b""
        self.told_all = self._source < 0
        self._stirred = asyncio.Event()
        self._signals = 0
        self._dialogue: Dialogue | None = None
        self._lines = Lines()
        self._says: asyncio.Queue[bytes] = asyncio.Queue()
        self._speaking: asyncio.Task[None] | None = None
        self._gone = self._control < 0
        self._copies: list[Copying] = []
        self._task: asyncio.Task[None] | None = None
        self._ready = held.take("ready") if held.has("ready") else -1
        self._is_there = self._ready < 0
        if self._ready >= 0:
            self._loop.add_reader(self._ready, self._there)
        if self._control >= 0:
            os.set_blocking(self._control, False)
            self._loop.add_reader(self._control, self._stand_in_gone)
        if self._source >= 0:
            os.set_blocking(self._source, False)
            self._loop.add_reader(self._source, self._hear_more)

    def begin(self) -> dict[str, Any]:
        """Find out who it is; gives what its probe is to do.

        `plain`: leave it alone; `real`: start it, with its streams led through here. Else the
        signals that its stand-in is to go on through.
        """
        if self.choose():
            if self.recorded is not None:
                self._dialogue = self.company.cast.dialogue(self.recorded)
            if self._dialogue is not None:
                self._say(self._dialogue.opening())
            self._task = self._loop.create_task(self._play())
            return {"ignore": ignored(self.recorded)}
        if self.tap is None:
            self.close()
            return {"plain": True}
        self._run()
        return {"real": True}

    # What it is told.

    def _hear_more(self) -> None:
        try:
            piece = os.read(self._source, ONE_READ)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self.told += piece
        if not piece:
            self.told_all = True
            self._close_source()
        if self.tap is not None:
            if piece:
                self.tap.passed("stdin", piece)
            else:
                self.tap.stream_ended("stdin", "complete")
        if self._dialogue is not None:
            self._say(self.hear_dialogue(self._dialogue, self._lines.feed(piece)))
        self.stir()
        recorded = self.recorded
        if recorded is None or self.fits(recorded):
            return
        if self.given:
            self._diverge()
        else:
            self._choose_again()

    def _choose_again(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self.choose():
            self._task = self._loop.create_task(self._play())
        else:
            self._run()

    # What is said of it.

    def failed(self, why: str) -> None:
        """It could not be started."""
        if self.tap is not None:
            self.tap.failed(why)
            self.tap = None
        self.runs_since(f"it could not be started: {why}")
        self.close()

    def signalled(self, number: int) -> None:
        """The command sends it a signal."""
        self._signals += 1
        super().signalled(number)
        self.stir()

    def waited_for(self, status: int) -> None:
        """The command knows how it ended."""
        if self.tap is not None:
            for name in OUTPUTS:
                if (content := self._held.file(name)) is not None:
                    self.tap.whole(name, content)
            self.tap.ended(status)

    def stir(self) -> None:
        """Something that it may wait for has come."""
        self._stirred.set()

    def close(self) -> None:
        """The command is over."""
        for task in (self._task, self._speaking):
            if task is not None:
                task.cancel()
        for copy in self._copies:
            copy.close()
        self._close_source()
        self._close_control()
        self._held.close()

    # Running for real.

    def _run(self) -> None:
        """Let the stand-in become the real program: what it was told goes on to it."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._tell("run")
        if self._held.has("stdin.target"):
            self._run_stdin()
        for name in OUTPUTS:
            if self._held.has(f"{name}.source"):
                ends = self._held.take(f"{name}.source"), self._held.take(f"{name}.target")
                self._copies.append(self._copying(name, *ends, b""))

    def _run_stdin(self) -> None:
        target = self._held.take("stdin.target")
        source, self._source = self._source, -1
        if source >= 0:
            self._loop.remove_reader(source)
        else:
            source, write = os.pipe()
            os.close(write)
        self._copies.append(self._copying("stdin", source, target, bytes(self.told)))

    def _copying(self, name: StreamName, source: int, target: int, first: bytes) -> Copying:
        tap = self.tap
        return Copying(
            source,
            target,
            (lambda piece: tap.passed(name, piece)) if tap else (lambda piece: None),
            (lambda how: tap.stream_ended(name, how)) if tap else (lambda how: None),
            first=first,
        )

    # Giving back.

    async def _play(self) -> None:
        recorded = self.recorded
        assert recorded is not None
        if self._dialogue is not None:
            await self._until(lambda: self._is_there, recorded.started.at)
            self._begin_giving()
            self._speaking = self._loop.create_task(self._speak())
        for piece in self.company.cast.pieces(recorded):
            await self._until(partial(self._is_due, piece), piece.at)
            self._begin_giving()
            await self._give(piece)
        await self._end()

    def _say(self, lines: list[bytes]) -> None:
        for line in lines:
            self._says.put_nowait(line)

    async def _speak(self) -> None:
        while True:
            said = await self._says.get()
            if self.tap is not None:
                self.tap.passed("stdout", said)
            if not self._held.has("stdout.target"):
                return
            if not await self._written(self._held.look("stdout.target"), said):
                return
            # A client that reads an answer with what came before it may have done with that.
            await asyncio.sleep(BETWEEN_LINES_SECONDS)

    def _is_due(self, piece: Piece) -> bool:
        return self._is_there and piece.after.is_reached_by(self._now())

    def _now(self) -> Moment:
        return Moment(self.company.turn(), len(self.told), self._signals)

    async def _until(self, ready: Callable[[], bool], at: int) -> None:
        assert self.recorded is not None
        recorded_after = (at - self.recorded.started.at) / 1e9
        deadline = self._began + max(recorded_after, 0) + PATIENCE_SECONDS
        while not ready() and not self._gone and self._loop.time() < deadline:
            self._stirred.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._stirred.wait()

    def _begin_giving(self) -> None:
        if self.given:
            return
        self.given = True
        for unused in ("stdin.target", "stdout.source", "stderr.source"):
            if self._held.has(unused):
                os.close(self._held.take(unused))
        for used in ("stdout.target", "stderr.target"):
            if self._held.has(used):
                self._held.put(used, of_our_own(self._held.take(used)))

    async def _give(self, piece: Piece) -> None:
        pipe, file = f"{piece.stream}.target", f"{piece.stream}.file"
        name = pipe if self._held.has(pipe) else file if self._held.has(file) else ""
        if not name:
            return
        if piece.content:
            if self.tap is not None and name == pipe:
                self.tap.passed(piece.stream, piece.content)
            if await self._written(self._held.look(name), piece.content):
                return
        if name == pipe:
            os.close(self._held.take(name))
            if self.tap is not None:
                self.tap.stream_ended(piece.stream, "reset" if piece.content else "complete")

    async def _written(self, descriptor: int, content: bytes) -> bool:
        """Whether somebody is there to read it."""
        while content:
            try:
                content = content[os.write(descriptor, content) :]
            except BlockingIOError:
                await self._writable(descriptor)
            except OSError:
                return False
        return True

    async def _writable(self, descriptor: int) -> None:
        ready = asyncio.Event()
        self._loop.add_writer(descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_writer(descriptor)

    async def _end(self) -> None:
        """The stand-in ends as the child did: when its turn comes, or when it is killed."""
        recorded = self.recorded
        assert recorded is not None
        ended = recorded.ended
        if ended is None or ended.unknown:
            self._begin_giving()
            return
        moment = self.company.cast.moment(recorded, ended.at)
        closed = recorded.was_closed_before_its_end
        # The command sends it again: then the stand-in dies of it.
        sent = any(event.signal == ended.signal for event in recorded.signals)

        def ready() -> bool:
            if ended.signal and sent:
                return False
            return moment.is_reached_by(self._now()) and (self.told_all or not closed)

        await self._until(ready, ended.at)
        self._begin_giving()
        self.make_its_change()
        self._tell(f"kill {ended.signal}" if ended.signal else f"exit {ended.status}")

    def _diverge(self) -> None:
        """Something was given, and then it was told something that is not on the tape."""
        self.runs_since("it was told something that is not on the tape")
        if self._task is not None:
            self._task.cancel()
        self._tell("exit 70")
        self._held.close()
        self._close_source()

    # The stand-in.

    def _tell(self, words: str) -> None:
        if self._control >= 0:
            with suppress(OSError):
                os.write(self._control, f"{words}\n".encode())

    def _stand_in_gone(self) -> None:
        """It became the real program, ended, or was killed: its pipes end with it."""
        self._gone = True
        self._close_control()
        self.stir()
        if self.must_run and not self.given:
            return
        for task in (self._task, self._speaking):
            if task is not None:
                task.cancel()
        if self._dialogue is not None and self.tap is not None:
            self.tap.stream_ended("stdout", "complete")
        self._held.close()
        self._close_source()

    def _there(self) -> None:
        """It has come so far that a signal finds it as it is to be."""
        self._loop.remove_reader(self._ready)
        os.close(self._ready)
        self._ready = -1
        self._is_there = True
        self.stir()

    def _close_control(self) -> None:
        if self._ready >= 0:
            self._there()
        if self._control >= 0:
            self._loop.remove_reader(self._control)
            os.close(self._control)
            self._control = -1

    def _close_source(self) -> None:
        if self._source >= 0:
            self._loop.remove_reader(self._source)
            os.close(self._source)
            self._source = -1
