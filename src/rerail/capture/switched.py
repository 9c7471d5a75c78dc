"""What is recorded after HTTP ends on a connection: WebSocket messages, or opaque bytes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rerail.proxy.handler import Route
from rerail.tape.chunks import encode_chunks
from rerail.tape.records import (
    Body,
    BodyEnd,
    Event,
    Side,
    TunnelClosed,
    TunnelOpened,
    WsClosed,
    WsMessage,
    WsOpened,
)
from rerail.tape.writer import BodyWriter
from rerail.wire.http1 import Head
from rerail.wire.websocket import Close, Control, Decoder, Message, Undecodable
from rerail.wire.websocket import Event as WebSocketEvent

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder

ABNORMAL = 1006
"""RFC 6455 section 7.1.5: the connection ended without a close frame."""


def websocket_extensions(head: Head) -> str:
    """The extensions that a 101 reply agrees to."""
    return ", ".join(value.decode("latin-1") for value in head.get_all(b"sec-websocket-extensions"))


class WebSocketRecord:
    """One WebSocket conversation on its way to the tape, read from copies of its frames."""

    def __init__(self, recorder: "Recorder", exchange_id: int, lane: str, extensions: str) -> None:
        self._recorder = recorder
        self._id = exchange_id
        self._lane = lane
        self._decoder = Decoder(extensions)
        self._closed = False
        self.said: Callable[[bytes], None] | None = None
        recorder.emit(
            lambda at, wall: WsOpened(
                at=at, wall=wall, exchange_id=exchange_id, extensions=extensions
            )
        )

    def data(self, sender: Side, data: bytes) -> None:
        """Frames that passed."""
        for event in self._decoder.feed(sender, data, at=self._recorder.clock.at()):
            self._write(event)

    def closed(self, ended: BodyEnd) -> None:
        """The connection is over."""
        for event in self._decoder.end():
            self._write(event)
        if not self._closed:
            sender: Side = "agent" if ended == "agent_closed" else "origin"
            self._write_close(sender, ABNORMAL, ended)

    def _write(self, event: WebSocketEvent) -> None:
        match event:
            case Message(sender=sender, opcode=opcode, payload=payload):
                frames = encode_chunks((frame.size, frame.at) for frame in event.frames)
                if event.size > len(payload):
                    self._missing(sender, f"{event.size - len(payload)} bytes of a large message")
                self._write_message(
                    sender,
                    opcode,
                    payload,
                    size=event.size,
                    frames=frames,
                    compressed=event.compressed,
                    unfinished=event.unfinished,
                )
            case Control(sender=sender, opcode=opcode, payload=payload):
                self._write_message(sender, opcode, payload)
            case Close(sender=sender, code=code, reason=reason):
                self._closed = True
                self._write_close(sender, code, reason)
            case Undecodable(sender=sender, reason=reason):
                self._missing(sender, reason)

    def _missing(self, sender: Side, detail: str) -> None:
        what = f"WebSocket frames of the {sender} in r{self._id}"
        self._recorder.missing(what, detail, 0)

    def _write_message(
        self,
        sender: Side,
        opcode: str,
        payload: bytes,
        *,
        size: int | None = None,
        frames: bytes = b"",
        compressed: bool = False,
        unfinished: bool = False,
    ) -> None:
        recorder = self._recorder
        content = recorder.redactor.body(payload)
        digest = recorder.writer.blob(content, lane=f"{self._lane} {sender} {opcode}")

        def make(at: int, wall: int) -> Event:
            return WsMessage(
                at=at,
                wall=wall,
                component=sender,
                exchange_id=self._id,
                sender=sender,
                opcode=opcode,  # type: ignore[arg-type]  # one of the decoder's four
                content=digest,
                size=len(payload) if size is None else size,
                frames=frames,
                compressed=compressed,
                unfinished=unfinished,
            )

        recorder.emit(make, urgent=True)
        if self.said is not None and sender == "agent" and opcode == "text":
            self.said(payload)

    def _write_close(self, sender: Side, code: int, reason: str) -> None:
        self._recorder.emit(
            lambda at, wall: WsClosed(
                at=at, wall=wall, exchange_id=self._id, sender=sender, code=code, reason=reason
            ),
            urgent=True,
        )


class TunnelRecord:
    """One opaque connection on its way to the tape: the bytes of each side, as they came."""

    def __init__(self, recorder: "Recorder", route: Route, why: str) -> None:
        self._recorder = recorder
        self._route = route
        self._bodies: dict[Side, BodyWriter] = {}
        recorder.emit(
            lambda at, wall: TunnelOpened(
                at=at,
                wall=wall,
                connection_id=route.connection_id,
                host=route.host,
                port=route.port,
                why=why,
                process_id=route.process_id,
            )
        )

    def data(self, sender: Side, data: bytes) -> None:
        """Bytes that passed."""
        recorder = self._recorder
        body = self._bodies.get(sender)
        if body is None:
            lane = f"{self._route.authority} {sender}"
            body = recorder.writer.body(exchange_id=0, side=sender, lane=lane, exact=False)
            self._bodies[sender] = body
        body.write(recorder.redactor.body(data), at=recorder.clock.at())

    def closed(self, ended: BodyEnd) -> None:
        """The connection is over."""
        sent, received = self._finished("agent"), self._finished("origin")
        self._recorder.emit(
            lambda at, wall: TunnelClosed(
                at=at,
                wall=wall,
                connection_id=self._route.connection_id,
                sent=sent,
                received=received,
                ended=ended,
            ),
            urgent=True,
        )

    def _finished(self, side: Side) -> Body | None:
        writer = self._bodies.get(side)
        return writer.finish(framing="close") if writer is not None else None
