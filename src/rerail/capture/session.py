"""One recording: a tape, a proxy and a command, from start to end.

The tape exists before the command starts, so that a tape that cannot be written stops everything;
the command starts before the event loop is running, so that both start up at the same time.
"""

import asyncio
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rerail import __version__
from rerail.capture.facts import machine_facts
from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.errors import TapeWriteFailed, UsageProblem
from rerail.launch.child import Child, Ending, start
from rerail.launch.environment import ca_bundle, child_environment
from rerail.proxy.certs import Authority, default_folder
from rerail.proxy.front import Listening
from rerail.proxy.handler import Route, Session, Wire
from rerail.proxy.relay import Relay
from rerail.proxy.server import ProxyServer, loopback_listener
from rerail.proxy.upstream import Dialer, UpstreamSettings
from rerail.redact.apply import Redactor, secrets_in
from rerail.tape.records import (
    CaptureMissing,
    Event,
    ProcessEnded,
    ProcessStarted,
    RunEnded,
    RunStarted,
)
from rerail.tape.writer import TapeWriter

DRAIN_SECONDS: Final = 2.0
COMMAND: Final = 1


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """What to record, where to, and how origins are reached.

    `environment` is the parent's; `kept` are the variables that were named. `reverse` maps a
    listening port to the origin it stands for.
    """

    command: list[str]
    tape: Path
    cwd: Path
    environment: Mapping[str, str]
    kept: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    task_id: str = ""
    upstream: UpstreamSettings = field(default_factory=UpstreamSettings)
    reverse: Mapping[int, tuple[str, str, int]] = field(default_factory=dict)
    overwrite: bool = False
    facts: bool = True
    go_on_unrecorded: bool = False
    log: Callable[[Event], None] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """How a recording ended. `failed` is set where the tape could not be kept to the end."""

    tape: Path
    tape_id: str
    run_id: str
    status: int
    exchanges: int
    size: int
    failed: TapeWriteFailed | None = None


def record(settings: RecordSettings) -> Recorded:
    """Run a command and keep everything it asks, is told and does on a tape."""
    return _Recording(settings).run()


class _Recording:
    """The parts of one recording, and the order in which they come and go."""

    def __init__(self, settings: RecordSettings) -> None:
        self._settings = settings
        self._clock = RunClock()
        self._run_id = settings.run_id or f"run-{secrets.token_hex(6)}"
        self._token = secrets.token_urlsafe(18)
        self._authority = Authority.open_or_create(default_folder(settings.environment))
        self._dialer = Dialer(settings.upstream)
        self._listeners = [(loopback_listener(), Listening(token=self._token))]
        for port, origin in settings.reverse.items():
            self._listeners.append((_reverse_listener(port), Listening(reverse=origin)))
        self._writer = TapeWriter.create(settings.tape, overwrite=settings.overwrite)
        self._recorder = Recorder(
            self._writer,
            Redactor.create(key=secrets.token_bytes(32), secrets=secrets_in(settings.environment)),
            self._clock,
            go_on_unrecorded=settings.go_on_unrecorded,
            log=settings.log,
        )

    def run(self) -> Recorded:
        folder = Path(tempfile.mkdtemp(prefix="rerail-"))
        try:
            self._write_start()
            child = self._start_command(folder)
            ending = asyncio.run(self._serve(child))
            self._write_end(child, ending)
            return self._close(ending)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _start_command(self, folder: Path) -> Child:
        settings = self._settings
        environment = child_environment(
            {**settings.environment, **settings.kept},
            port=self._listeners[0][0].getsockname()[1],
            token=self._token,
            process_id=COMMAND,
            bundle=ca_bundle(folder, self._authority.certificate_pem, settings.environment),
        )
        return start(settings.command, cwd=settings.cwd, environment=environment)

    def _write_start(self) -> None:
        settings, recorder = self._settings, self._recorder
        recorder.emit(
            lambda at, wall: RunStarted(
                at=at,
                wall=wall,
                run_id=self._run_id,
                task_id=settings.task_id or self._run_id,
                writer=f"rerail {__version__}",
                argv=settings.command,
                cwd=str(settings.cwd),
                environment=dict(settings.kept),
                capture=self._capture(),
                facts=machine_facts(settings.cwd, settings.environment) if settings.facts else {},
            ),
            urgent=True,
        )

    def _capture(self) -> dict[str, str]:
        """What could be captured here, and what this version leaves out."""
        capture = {"http": "proxy variables and CA variables", "tls": "intercepted, http/1.1"}
        for port, (scheme, host, origin_port) in self._settings.reverse.items():
            capture[f"reverse {port}"] = f"{scheme}://{host}:{origin_port}"
        return capture

    async def _serve(self, child: Child) -> Ending:
        self._recorder.emit(
            lambda at, wall: ProcessStarted(
                at=at,
                wall=wall,
                component="agent",
                process_id=COMMAND,
                argv=self._settings.command,
                cwd=str(self._settings.cwd),
                pid=child.pid,
            )
        )
        server = ProxyServer(self, self._authority)
        for listener, listening in self._listeners:
            await server.listen(listener, listening)
        ending = await ended(child)
        await self._drain()
        await server.close()
        return ending

    async def _drain(self) -> None:
        """Descendants of the command may still be talking: let what is open end, within a bound."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DRAIN_SECONDS
        while self._recorder.open and loop.time() < deadline:
            await asyncio.sleep(0.01)

    def _write_end(self, child: Child, ending: Ending) -> None:
        emit = self._recorder.emit
        for pid, argv in child.descendants():
            detail = f"pid {pid} ({' '.join(argv)[:200]}) went on after the command ended"
            emit(
                lambda at, wall, detail=detail: CaptureMissing(  # type: ignore[misc]
                    at=at, wall=wall, what="a process outlived the command", detail=detail
                )
            )
        emit(
            lambda at, wall: ProcessEnded(
                at=at,
                wall=wall,
                component="agent",
                process_id=COMMAND,
                status=ending.status,
                signal=ending.signal,
            )
        )
        emit(
            lambda at, wall: RunEnded(at=at, wall=wall, status=ending.status, signal=ending.signal)
        )

    def _close(self, ending: Ending) -> Recorded:
        settings = self._settings
        tape_id, failed = "", None
        try:
            tape_id = self._writer.close()
        except TapeWriteFailed as error:
            failed = error
        size = settings.tape.stat().st_size if settings.tape.exists() else 0
        return Recorded(
            settings.tape,
            tape_id,
            self._run_id,
            ending.status,
            self._recorder.exchanges,
            size,
            failed,
        )

    # What the proxy asks for.

    def session(self, route: Route, wire: Wire) -> Session:
        return Relay(route, wire, self._recorder, self._dialer)

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self._recorder.missing(what, detail, process_id)


async def ended(child: Child) -> Ending:
    """Wait for a command while the loop runs, its signals passed on."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    loop.add_reader(child.pidfd, done.set)
    try:
        await done.wait()
    finally:
        loop.remove_reader(child.pidfd)
    return child.wait()


def _reverse_listener(port: int) -> socket.socket:
    try:
        return loopback_listener(port)
    except OSError as error:
        raise UsageProblem(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}",
            hint="choose another port for --listen",
        ) from error
