"""One replay: a tape, a proxy that answers from it, and a command, from start to report."""

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from rerail.clock import RunClock
from rerail.errors import NotOnTape, RerailError
from rerail.launch.child import Child, Ending, start
from rerail.launch.environment import child_environment, kept_bundle
from rerail.launch.facts import machine_facts
from rerail.launch.run_folder import REAL_CLOCK
from rerail.launch.waiting import end_of
from rerail.playback.casting import Cast
from rerail.playback.children import Children, ChildTap
from rerail.playback.effects import Effects
from rerail.playback.hold import Hold
from rerail.playback.onward import Onward
from rerail.playback.pace import Pace
from rerail.playback.place import IN_PLACE, Choose, Files, Place, place_for
from rerail.playback.player import Player, Policy
from rerail.playback.probes import Playhead
from rerail.playback.put_back import PutBack
from rerail.playback.report import Containment, End, Report, Tried
from rerail.playback.stage import LiveCalls, Stage
from rerail.playback.strangers import files_are_known, is_known, leave_nothing_to
from rerail.playback.summary import make_report
from rerail.proxy.certs import Authority, default_folder
from rerail.proxy.handler import Listening, Tap
from rerail.proxy.listeners import allow_more_files, free_port, listener_at, loopback_listener
from rerail.proxy.reverse import recorded
from rerail.proxy.run_channel import RunChannel
from rerail.proxy.said import Started
from rerail.proxy.server import ProxyServer
from rerail.redact.apply import Redactor, secrets_in
from rerail.redact.reference import text_to_wire
from rerail.sandbox.choose import Sandbox
from rerail.tape.codec import as_given
from rerail.tape.reader import Tape
from rerail.tape.records import RunStarted
from rerail.workspace.kept import Kept
from rerail.workspace.seen import Seen

COMMAND: Final = 1
STAND_INS: Final = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "CODEX_API_KEY",
)
"""Keys without which a client does not start. A replay needs none: a word stands in for them."""

STAND_IN: Final = "rerail-replay-needs-no-key"
READ_AHEAD_SECONDS: Final = 0.02

Listener = tuple[socket.socket, Listening]


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What to replay and how.

    `command` is empty for the recorded one. `environment` is the present one; the variables that
    the tape kept are set again over it, and `changed` over those. `choose` gives the sandbox; with
    None nothing cuts the command off. `onward` decides where a rewind leaves the tape, by way of
    `live`. `trusted`: a tape that this user did not record here may decide what runs. `files` says
    which the command works on, `present` the folder that has the present ones where it is not the
    recorded one; a copy is kept in `keep_files`, a new folder.
    """

    environment: Mapping[str, str]
    command: list[str] = field(default_factory=list)
    changed: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    on_divergence: Policy = "stop"
    pace: Pace = field(default_factory=lambda: Pace.parse("fast"))
    live: LiveCalls | None = None
    onward: Onward | None = None
    hold: Hold | None = None
    trusted: bool = False
    choose: Choose | None = None
    files: Files = "present"
    keep_files: Path | None = None
    present: Path | None = None


class KeepsReplay(Protocol):
    """Who keeps a replay, where it is itself recorded."""

    @property
    def tap(self) -> Tap:
        """Hears what passes."""

    def began(
        self, command: list[str], cwd: Path, kept: Mapping[str, str], folders: Sequence[Seen]
    ) -> None:
        """The command is about to start; `folders` are copies that it works on."""

    def command_started(self, argv: list[str], cwd: Path, pid: int) -> None:
        """The command runs."""

    def clock_jumped(self, before: int, after: int) -> None:
        """Processes are told the real time from now on (ns since 1970)."""

    def probe_wrote(self, process_id: int, lines: bytes) -> None:
        """What the probe in a process was asked for."""

    def child(self, started: Started) -> ChildTap:
        """Who keeps a child of the replay."""

    def not_started(self, error: RerailError) -> None:
        """The command could not be started."""

    def ended(self, ending: Ending, left: Iterable[tuple[int, list[str]]]) -> object:
        """The command is over."""


def replay(
    tape: Tape, settings: ReplaySettings, *, record: Callable[[], KeepsReplay] | None = None
) -> Report:
    """Run a command against a tape: the same replies in the same order, and nothing else.

    `record` begins a tape of the replay itself, once it is known that it may start.
    """
    if not settings.command and not tape.run.argv:
        hint = "name one after `--`; a durable script is resumed or forked instead"
        raise NotOnTape(f"there is no command on {tape.path} to run again", hint=hint)
    known = settings.trusted or is_known(tape.run, settings.environment)
    if not known:
        leave_nothing_to(tape.run, settings.command, settings.changed)
    with place_for(
        tape,
        files=settings.files,
        folder=_folder(tape.run, known=known),
        why=_why_not_its_files(tape, settings, known=known),
        environment=settings.environment,
        choose=settings.choose,
        keep=settings.keep_files,
        present=settings.present,
    ) as place:
        return _Replaying(tape, settings, record, place, known=known).run()


def _why_not_its_files(tape: Tape, settings: ReplaySettings, *, known: bool) -> str:
    if not known:
        return "a stranger chose those on the tape"
    if settings.files == IN_PLACE or settings.trusted:
        return ""
    known = files_are_known(tape, settings.environment)
    return "" if known else "those on the tape are not as you recorded them on this machine"


class _Replaying:
    """The parts of one replay, and the order in which they come and go."""

    def __init__(
        self,
        tape: Tape,
        settings: ReplaySettings,
        record: Callable[[], KeepsReplay] | None,
        place: Place,
        *,
        known: bool,
    ) -> None:
        self._tape = tape
        self._settings = settings
        self._place = place
        self._known = known
        self._clock = RunClock()
        self._token = secrets.token_urlsafe(18)
        self._authority = Authority.open_or_create(default_folder(settings.environment))
        self._redactor = Redactor.create(
            key=secrets.token_bytes(32), secrets=secrets_in(settings.environment)
        )
        given = partial(as_given, tape.run)
        self._command = settings.command or [text_to_wire(given(word)) for word in tape.run.argv]
        kept = {name: given(value) for name, value in tape.run.environment.items()}
        self._kept = {**kept, **settings.changed}
        self._cwd = place.folder
        self._player = self._new_player()
        self._record = record() if record else None
        self._playhead = self._new_playhead()
        self._stage = self._new_stage()
        self._children: Children | None = None
        self._channel: RunChannel | None = None
        if self._playhead is not None and self._playhead.folder.settings.children:
            self._prepare_children(self._playhead)
        self._reverse = recorded(tape.run.capture)
        self._listening = [
            Listening(token=self._token, others=self._reverse),
            *(Listening(reverse=origin) for origin in self._reverse.values()),
        ]

    def _new_player(self) -> Player:
        settings = self._settings
        return Player(
            self._tape,
            ignore=settings.ignore,
            on_divergence=settings.on_divergence,
            onward=settings.onward,
            facts=self._facts() if self._tape.run.facts else None,
            given=[*self._command, *settings.changed.values()],
        )

    def _new_playhead(self) -> Playhead | None:
        sandbox = self._place.sandbox
        playhead = Playhead.of(
            self._player.script,
            log=self._record is not None,
            path=self._place.run_folder,
            private=sandbox.view.private if sandbox else (),
        )
        if playhead is not None and self._record is not None:
            playhead.jumped = self._record.clock_jumped
        return playhead

    def _new_stage(self) -> Stage:
        settings = self._settings
        return Stage(
            self._player,
            settings.pace,
            self._redactor,
            tap=self._record.tap if self._record else None,
            live=settings.live,
            hold=settings.hold,
            playhead=self._playhead,
            put_back=self._put_back(),
            going_live=self._going_live if settings.onward else None,
        )

    def _facts(self) -> dict[str, str]:
        """The facts as the command will find them."""
        return machine_facts(self._cwd, {**self._settings.environment, **self._kept})

    def _put_back(self) -> PutBack | None:
        """What a rewind put in place in the recorded run is put there again."""
        scratch, kept = self._place.scratch, Kept(self._tape)
        restored = any(snapshot.why == "restored" for snapshot in kept.all)
        return PutBack(kept, scratch.copies) if scratch is not None and restored else None

    def _going_live(self) -> bool:
        onward, scratch = self._settings.onward, self._place.scratch
        return onward is not None and onward.arrived(scratch.copies if scratch else ())

    def _effects(self) -> Effects:
        if self._place.scratch is not None:
            return Effects(self._tape, self._place.scratch.copies)
        return Effects(self._tape, in_place=self._cwd)

    def _prepare_children(self, playhead: Playhead) -> None:
        cast = Cast(self._player.script)
        self._children = Children(
            cast,
            self._redactor,
            str(self._place.folder),
            lambda: playhead.folder.page.turn,
            lambda: bool(playhead.folder.page.flags & REAL_CLOCK),
            self._record.child if self._record else None,
            self._effects(),
        )
        self._channel = RunChannel(playhead.folder.channel)
        playhead.moved = self._children.moved

    def run(self) -> Report:
        folder = self._playhead.folder if self._playhead else nullcontext()
        with folder, self._channel or nullcontext():
            return self._run()

    def _run(self) -> Report:
        kept = self._kept
        if self._record is not None:
            self._record.began(self._command, self._cwd, kept, self._place.folders)
        try:
            child, listeners = self._start_command(kept)
        except RerailError as error:
            if self._record is not None:
                self._record.not_started(error)
            raise
        with child:
            ending = asyncio.run(self._serve(child, listeners))
            left = child.left_behind()
        if left and self._place.sandbox is not None:
            self._place.sandbox.leave()
        notes = [
            f"pid {pid} ({' '.join(self._redactor.arguments(argv))[:200]}) went on after the end"
            for pid, argv in left
        ]
        notes += self._place.reached()
        if self._playhead is not None:
            notes += self._playhead.missed(self._record.probe_wrote if self._record else None)
        if self._record is not None:
            self._record.ended(ending, left)
        if self._place.scratch is None and str(self._cwd) != self._tape.run.cwd:
            why = "is not here" if self._known else "was not entered: a stranger chose it"
            notes.append(f"the recorded folder {self._tape.run.cwd} {why}")
        return self._report(ending, notes)

    def _start_command(self, kept: Mapping[str, str]) -> tuple[Child, list[Listener]]:
        settings, sandbox = self._settings, self._place.sandbox
        inside = sandbox is not None and sandbox.listens_inside
        own = () if inside else self._own_listeners()
        port = free_port(besides=self._reverse) if inside else own[0].getsockname()[1]
        folder = self._playhead.folder if self._playhead else None
        environment = child_environment(
            {
                **dict.fromkeys(STAND_INS, STAND_IN),
                **settings.environment,
                **({"PWD": str(self._cwd)} if "PWD" in settings.environment else {}),
                **kept,
            },
            port=port,
            token=self._token,
            process_id=COMMAND,
            bundle=kept_bundle(
                self._authority.folder / "shown",
                self._authority.certificate_pem,
                settings.environment,
            ),
            run_folder=folder.path if folder else None,
            hash_seed=folder.settings.hash_seed if folder else None,
        )
        child = start(
            self._command,
            cwd=self._cwd,
            environment=environment,
            sandbox=sandbox,
            ports=[port, *self._reverse],
        )
        if self._record is not None:
            self._record.command_started(self._command, self._cwd, child.pid)
        return child, list(zip(child.listeners or own, self._listening, strict=True))

    def _own_listeners(self) -> tuple[socket.socket, ...]:
        """The proxy's, and one for each port that stands for an origin."""
        hint = "the tape was recorded with this port: end the program that listens there"
        named = [listener_at(port, hint=hint) for port in self._reverse]
        return (loopback_listener(), *named)

    async def _serve(self, child: Child, listeners: list[Listener]) -> Ending:
        allow_more_files()
        if self._channel is not None and self._children is not None:
            self._channel.attend(self._children.hear)
        server = ProxyServer(self._stage, self._authority)
        for listener, listening in listeners:
            await server.listen(listener, listening)
        reading = asyncio.get_running_loop().create_task(self._read_ahead())
        try:
            return await end_of(child)
        finally:
            reading.cancel()
            if self._channel is not None and self._children is not None:
                self._channel.finish()
                self._children.close()
            await server.close()

    async def _read_ahead(self) -> None:
        """In idle moments, do a little of what a miss would need."""
        while self._player.read_ahead():
            await asyncio.sleep(READ_AHEAD_SECONDS)

    def _report(self, ending: Ending, notes: list[str]) -> Report:
        settings = self._settings
        return make_report(
            self._player,
            command=self._redactor.arguments(self._command),
            environment=self._kept,
            containment=_containment(self._place.sandbox),
            ended=End(status=ending.status, signal=ending.signal),
            pace=settings.pace.name,
            duration_ns=self._clock.at(),
            attempts=self._attempts(),
            children=self._children.uses if self._children else (),
            within_children=self._children.requests_given() if self._children else (),
            notes=map(self._redactor.text, notes),
            workspace=self._place.used(),
        )

    def _attempts(self) -> list[Tried]:
        sandbox = self._place.sandbox
        return [
            Tried(
                what=refused.what,
                target=self._redactor.text(refused.target),
                program=refused.program,
                pid=refused.pid,
                count=refused.count,
            )
            for refused in (sandbox.refused if sandbox else ())
        ]


def _folder(run: RunStarted, *, known: bool) -> Path:
    recorded = Path(run.cwd)
    return recorded if known and recorded.is_dir() else Path.cwd()


def _containment(sandbox: Sandbox | None) -> Containment:
    if sandbox is None:
        return Containment(level="not contained", missing=["network namespace"])
    held = sandbox.containment
    return Containment(level=held.level, missing=[gap.layer.name for gap in held.missing])
