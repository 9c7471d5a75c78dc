"""A WebSocket of a replay: the agent's frames are read, and what the origin said is said again."""

import asyncio
from collections import deque
from collections.abc import Callable

from rerail.errors import NotOnTape, TapeAltered
from rerail.playback.answers import Served
from rerail.playback.conversation import NO_STATUS, Heard, Say, Spoken
from rerail.playback.pace import Timer
from rerail.playback.player import INTERNAL_ERROR, Player
from rerail.playback.talk import Goings, Talk
from rerail.proxy.handler import Wire
from rerail.tape.chunks import decode_chunks
from rerail.wire.websocket import Close, Control, Decoder, Encoder, Message, Undecodable

PROTOCOL_ERROR = 1002


class Dialogue:
    """One conversation between the agent and the tape."""

    def __init__(
        self,
        player: Player,
        served: Served,
        extensions: str,
        wire: Wire,
        timer: Timer,
        *,
        ready: bool,
        listener: Callable[[bytes], None] | None = None,
        goings: Goings | None = None,
    ) -> None:
        """`ready`: whether the agent reads as fast as it is told, until `writable` says more.

        `listener` hears each text of the agent before it is answered. With `goings` it may go on
        live.
        """
        self._talk = Talk(player, served, goings, self._add) if goings is not None else None
        self._listener = listener
        self._player = player
        self._served = served
        self._wire = wire
        self._timer = timer
        self._decoder = Decoder(extensions)
        self._encoder = Encoder("origin", extensions)
        self._saying: deque[Say] = deque()
        self._waiting = False
        self._ready = ready
        self._over = False

    def begin(self) -> None:
        """Say what the origin said first."""
        self._say(self._player.begin(self._served))

    def received(self, data: bytes) -> None:
        """Frames of the agent."""
        for event in self._decoder.feed("agent", data, at=0):
            match event:
                case Message(opcode=opcode, payload=payload):
                    self._heard(opcode, payload)
                case Control(opcode=opcode, payload=payload):
                    self._heard(opcode, payload)
                case Close(code=code):
                    self._heard("close", code=code)
                case Undecodable(reason=reason):
                    self._send(Say("close", code=PROTOCOL_ERROR, reason=reason[:120]))

    def agent_left(self) -> None:
        """The agent closed the connection without a close frame, or after one."""
        if not self._over:
            self._over = True
            if self._talk is not None and self._talk.begun:
                self._talk.said("close", b"")
                return
            self._player.heard(self._served, "drop")

    def writable(self, ready: bool) -> None:
        """The agent reads slower than it is told (False), or has caught up (True)."""
        self._ready = ready
        if ready and not self._waiting:
            self._speak()

    def _heard(self, kind: Spoken, payload: bytes = b"", *, code: int = NO_STATUS) -> None:
        if self._listener is not None and kind == "text":
            self._listener(payload)
        if self._talk is not None and self._talk.begun:
            self._talk.said(kind, payload, code=code)
            return
        heard: Heard = self._player.heard(self._served, kind, payload, code=code)
        if heard.goes_live and self._talk is not None:
            self._talk.begin(payload, heard.turn)
            return
        self._timer.begin(heard.at)
        self._say(heard.say)

    def _add(self, say: Say) -> None:
        self._say((say,))

    def _say(self, what: tuple[Say, ...]) -> None:
        self._saying.extend(what)
        if not self._waiting:
            self._speak()

    def _speak(self) -> None:
        """Say what is due, in order, as fast as the agent reads."""
        while self._saying and self._ready and not self._over:
            say = self._saying[0]
            if say.at and self._timer.holds(say.at, self._go_on):
                self._waiting = True
                return
            self._send(self._saying.popleft())

    def _go_on(self) -> None:
        self._waiting = False
        if self._saying and self._ready and not self._over:
            self._send(self._saying.popleft())
            self._speak()

    def _send(self, say: Say) -> None:
        try:
            self._tell(say)
        except (TapeAltered, NotOnTape) as error:
            self._player.damaged(self._served, error)
            self._tell(Say("close", code=INTERNAL_ERROR, reason=f"rerail: {error.what}"))

    def _tell(self, say: Say) -> None:
        encoder = self._encoder
        match say.kind:
            case "text" | "binary":
                frames = encoder.message(
                    say.kind, say.content(), compressed=say.compressed, frames=_lengths(say.frames)
                )
                for frame in frames:
                    self._wire.write(frame)
            case "ping":
                self._wire.write(encoder.ping(say.content()))
            case "pong":
                self._wire.write(encoder.pong(say.content()))
            case "close":
                self._wire.write(encoder.close(say.code, say.reason))
                self._over = True
                asyncio.get_running_loop().call_soon(self._wire.close)
            case "drop":
                self._over = True
                self._wire.close()


def _lengths(table: bytes) -> list[int]:
    """The lengths of a message's frames: a torn table costs the boundaries, never the bytes."""
    try:
        return [frame.size for frame in decode_chunks(table)]
    except ValueError:
        return []
