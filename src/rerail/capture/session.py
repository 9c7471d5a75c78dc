"""One recording: a tape, a proxy and a command, from start to end, or in steps.

The tape exists before the command starts, so that a tape that cannot be written stops everything;
the command starts before what serves it is loaded (hence imports in functions), so that both start
up at the same time. A command that is over before it asks for anything never needs it.
"""

import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from rerail.capture.folders import SNAPSHOTS, Folders
from rerail.capture.keeping import COMMAND, Keeping, KeptTape, RunFacts
from rerail.capture.passed import PassedBy
from rerail.capture.probes import Turns
from rerail.clock import file_time_ns
from rerail.errors import RerailError
from rerail.launch.child import Child, Ending, start
from rerail.launch.command import find_program
from rerail.launch.environment import child_environment, kept_bundle
from rerail.launch.family import descendants_of
from rerail.launch.run_folder import ProbeSettings, RunFolder
from rerail.proxy.certs import Authority, default_folder
from rerail.proxy.handler import Listening, Route, Session, Wire
from rerail.proxy.listeners import allow_more_files, listener_at, loopback_listener
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.reverse import Origin, described
from rerail.proxy.run_channel import RunChannel
from rerail.sandbox.lookout import Lookout, why_not
from rerail.sandbox.machine import here
from rerail.tape.records import Event

if TYPE_CHECKING:
    from rerail.capture.snapshots import Workspace
    from rerail.proxy.upstream import Dialer
    from rerail.sandbox.choose import Sandbox

DRAIN_SECONDS: Final = 2.0
AT_ONCE_SECONDS: Final = 0.005
"""For so long a command may be over before anything is loaded to serve it."""
SEED_SIZE: Final = 32
LOOK_SECONDS: Final = 0.25
"""How long the lookout may take to notice that nobody is left."""


class RecordSettings(Struct, frozen=True):
    """What to record, where to, and how origins are reached.

    `environment` is the parent's; `kept` are the variables that were named. `reverse` maps a
    listening port to the origin that it stands for. `clock`, `random`: whether what probes hand out
    of these is kept; `children`: whether what child processes say is. `log` is told each event as
    it is written. `folders` are snapshotted; where there are none, `no_folders` says why.
    `watch`: whether the kernel tells of connections that pass by, None where the machine decides.
    `went_on` are the holds that a person goes past (`rerail.capture.keeping.RunFacts`).
    """

    command: list[str]
    tape: Path
    cwd: Path
    environment: Mapping[str, str]
    kept: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    task_id: str = ""
    upstream: UpstreamSettings = field(default_factory=UpstreamSettings)
    reverse: Mapping[int, Origin] = field(default_factory=dict)
    overwrite: bool = False
    facts: bool = True
    go_on_unrecorded: bool = False
    clock: bool = True
    random: bool = True
    children: bool = True
    log: Callable[[Event], None] | None = None
    folders: Folders | None = None
    no_folders: str = ""
    watch: bool | None = None
    went_on: Sequence[tuple[str, str, str]] = ()


def record(settings: RecordSettings) -> tuple[Ending, KeptTape]:
    """Run a command and keep everything it asks, is told and does on a tape."""
    with Recording(settings) as recording:
        recording.begin()
        ending = recording.run_command()
    return ending, recording.close(ending)


class Recording:
    """The parts of one recording, and the order in which they come and go.

    `begin`, `run_command`, `close`, the first two inside the `with` block. In between, others may
    put facts on the tape by way of `recorder`. `given` is the environment of the command where that
    is not the recorder's own; `sandbox` is what it runs in. `on_start` is told of the command.
    With `alone`, it has neither our terminal nor our input, and what it leaves running is ended
    with it.
    """

    def __init__(
        self,
        settings: RecordSettings,
        *,
        given: Mapping[str, str] | None = None,
        on_start: Callable[[Child], None] | None = None,
        alone: bool = False,
    ) -> None:
        self._settings = settings
        self._alone = alone
        self._given = given
        self._on_start = on_start
        self.sandbox: Sandbox | None = None
        if given is None:  # else the command's folder may be made only after the first event
            find_program(settings.command[0], settings.environment, settings.cwd)
        self._authority = Authority.open_or_create(default_folder(settings.environment))
        if settings.upstream.client_certificate is not None:
            _ = self._dialer  # It says now what is wrong with the certificate.
        self._token = secrets.token_urlsafe(18)
        with ExitStack() as where_it_fails:
            self._listeners = self._listen(where_it_fails)
            self._folder = RunFolder.make(
                ProbeSettings(
                    mode="record",
                    seed=secrets.token_hex(SEED_SIZE) if settings.random else "",
                    clock=settings.clock,
                    random=settings.random,
                    children=settings.children,
                )
            )
            where_it_fails.callback(self._folder.remove)
            self._keeping = Keeping(
                settings.tape,
                settings.environment,
                witness_key=self._authority.witness_key,
                overwrite=settings.overwrite,
                go_on_unrecorded=settings.go_on_unrecorded,
                log=settings.log,
            )
            self._channel = RunChannel(self._folder.channel)
            where_it_fails.pop_all()
        self.recorder = self._keeping.recorder
        self._turns = Turns(self.recorder, self._folder)
        self.recorder.asked = self._turns.begins
        self._unwatched = why_not(settings.environment, settings.watch)
        self._passed = PassedBy(self.recorder)
        self._lookout: Lookout | None = None
        self._open = ExitStack()
        self._went_past: list[tuple[str, str]] = []

    def _listen(self, closing: ExitStack) -> list[tuple[socket.socket, Listening]]:
        others = self._settings.reverse
        own = closing.enter_context(loopback_listener())
        listeners = [(own, Listening(token=self._token, others=others))]
        for port, origin in others.items():
            listener = listener_at(port, hint="choose another port for --listen")
            listeners.append((closing.enter_context(listener), Listening(reverse=origin)))
        return listeners

    def __enter__(self) -> Self:
        self._open.enter_context(self._closing_listeners())
        self._open.enter_context(self._folder)
        self._open.enter_context(self._channel)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def channel(self) -> Path:
        """The socket through which probes talk to us."""
        return self._folder.channel

    @property
    def places(self) -> tuple[Path, Path]:
        """What the command needs of ours: the folder of its run, and the certificates."""
        return self._folder.path, self._authority.folder / "shown"

    def begin(self) -> None:
        """Write the first event."""
        self._keeping.started(self._described())

    def run_command(self) -> Ending:
        """Run the command to its end, keeping everything; the listeners are gone afterwards."""
        settings, keeping = self._settings, self._keeping
        workspace = self._start_snapshots(file_time_ns())
        with self._closing_listeners(), self._start_command() as child:
            keeping.command_started(settings.command, settings.cwd, child.pid)
            self._passed.name(pid=child.pid, number=COMMAND)
            if self._lookout is not None and self._lookout.refusal:
                what = "connections that pass the recorder by are not noticed"
                self.recorder.missing(what, self._lookout.refusal, COMMAND)
            ending = self._served(child)
            self._turns.keep_news()
            self._turns.name_what_is_unseen()
            left = child.left_behind()
            self._went_past = self._end_looking(go_on=bool(left))
            if self._alone:
                child.end_descendants()
            keeping.command_ended(ending, left)
        if workspace is not None:
            workspace.close()
        return ending

    def close(self, ending: Ending, reason: str = "") -> KeptTape:
        """Write the last event and close the tape."""
        return replace(self._keeping.close(ending, reason), passed=self._went_past)

    def _start_snapshots(self, began: int) -> "Workspace | None":
        """They begin beside the command: it does not wait for them."""
        from rerail.capture.snapshots import Workspace

        if self._settings.folders is None:
            return None
        self.recorder.workspace = Workspace(self.recorder, self._settings.folders)
        self.recorder.workspace.start(began)
        return self.recorder.workspace

    def _closing_listeners(self) -> ExitStack:
        closing = ExitStack()
        for listener, _ in self._listeners:
            closing.enter_context(listener)
        return closing

    def _served(self, child: Child) -> Ending:
        """Serve the command to its end; the event loop is loaded only now, beside the command."""
        if child.ends_within(AT_ONCE_SECONDS, unless=self._ears()):
            return child.wait()
        if self._lookout is not None:
            standing_by = self._lookout.stand_by()
            child.disregard(standing_by)
            self._turns.disregard(standing_by)
        import asyncio

        return asyncio.run(self._serve(child))

    def _ears(self) -> list[int]:
        """Descriptors that can be read once something of the command spoke to us."""
        return [listener.fileno() for listener, _ in self._listeners]

    def _described(self) -> RunFacts:
        settings = self._settings
        capture = {"http": "proxy variables and CA variables", "tls": "intercepted, http/1.1"}
        capture["clock"] = (
            "each time handed out by Python and Node" if settings.clock else "no: left out"
        )
        capture["random"] = "from a seed, in Python and Node" if settings.random else "no: left out"
        capture["bypass"] = self._who_tells()
        capture["children"] = "of Python and Node" if settings.children else "no: left out"
        capture |= described(settings.reverse)
        capture["workspace"] = settings.no_folders or SNAPSHOTS
        return RunFacts(
            argv=settings.command,
            cwd=settings.cwd,
            capture=capture,
            kept=settings.kept,
            run_id=settings.run_id,
            task_id=settings.task_id,
            facts=settings.facts,
            seed=bytes.fromhex(self._folder.settings.seed),
            went_on=settings.went_on,
        )

    def _who_tells(self) -> str:
        if not self._unwatched:
            return "TCP is noticed"
        who = "not noticed" if self._settings.watch is False else "only Python tells"
        return f"{who}: {self._unwatched}"

    def _start_command(self) -> Child:
        settings = self._settings
        given = settings.environment if self._given is None else self._given
        environment = child_environment(
            {**given, **settings.kept},
            port=self._listeners[0][0].getsockname()[1],
            token=self._token,
            process_id=COMMAND,
            bundle=kept_bundle(
                self._authority.folder / "shown",
                self._authority.certificate_pem,
                settings.environment,
            ),
            run_folder=self._folder.path,
            hash_seed=self._folder.settings.hash_seed,
            tells=bool(self._unwatched) and settings.watch is not False,
        )
        self._lookout = self._new_lookout() if self.sandbox is None else None
        try:
            with Path(os.devnull).open("rb") as nothing:
                child = start(
                    settings.command,
                    cwd=settings.cwd,
                    environment=environment,
                    sandbox=self.sandbox,
                    ports=[listener.getsockname()[1] for listener, _ in self._listeners],
                    lookout=self._lookout,
                    streams=(nothing.fileno(), 1, 2) if self._alone else (),
                )
        except RerailError as error:
            if self.recorder.workspace is not None:
                self.recorder.workspace.close()
            self._keeping.close(Ending(error.exit_code), f"it did not start: {error.what}")
            raise
        if self._on_start is not None:
            self._on_start(child)
        return child

    def _new_lookout(self) -> Lookout | None:
        machine = None if self._unwatched else here()
        if machine is None:
            return None
        ports = {listener.getsockname()[1] for listener, _ in self._listeners}
        run = partial(descendants_of, os.getpid())
        return Lookout(machine, ports, run, self._passed.tell)

    def _end_looking(self, *, go_on: bool) -> list[tuple[str, str]]:
        """Where processes of the run go on, somebody has to go on looking."""
        lookout = self._lookout
        if lookout is not None and not lookout.join(0 if go_on else LOOK_SECONDS):
            lookout.leave()
        return [(passed.program, passed.target) for passed in self._passed.stop()]

    async def _serve(self, child: Child) -> Ending:
        import asyncio

        from rerail.capture.children import ChildrenRecord
        from rerail.launch.waiting import end_of
        from rerail.proxy.server import LOAD_SECONDS, ProxyServer

        allow_more_files()
        children = ChildrenRecord(self.recorder)
        self._channel.attend(children.hear)
        server = ProxyServer(self, self._authority)
        for listener, listening in self._listeners:
            await server.listen(listener, listening)
        asyncio.get_running_loop().call_later(LOAD_SECONDS, _load)
        self._passed.write_on(asyncio.get_running_loop().call_soon_threadsafe)
        ending = await end_of(child)
        await self._drain()
        self._channel.finish()
        children.close()
        await server.close()
        return ending

    async def _drain(self) -> None:
        """Descendants of the command may still be talking: let what is open end, within a bound."""
        import asyncio

        loop = asyncio.get_running_loop()
        deadline = loop.time() + DRAIN_SECONDS
        while self.recorder.open and loop.time() < deadline:
            await asyncio.sleep(0.01)

    @cached_property
    def _dialer(self) -> "Dialer":
        from rerail.proxy.upstream import Dialer

        return Dialer(self._settings.upstream)

    # What the proxy asks for.

    def session(self, route: Route, wire: Wire) -> Session:
        from rerail.proxy.relay import Relay

        return Relay(route, wire, self.recorder, self._dialer)

    def missing(self, what: str, detail: str, process_id: int) -> None:
        self.recorder.missing(what, detail, process_id)

    def passed_by(self, program: str, pid: int, host: str, port: int, process_id: int) -> None:
        self._passed.told_by_probe(program, pid, host, port)


def _load() -> None:
    # Loaded while the command starts.
    import rerail.llm.steps
    import rerail.proxy.relay  # noqa: F401
