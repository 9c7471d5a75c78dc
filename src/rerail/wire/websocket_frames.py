"""Frames of RFC 6455: cut out of a stream by `wsproto`, and written.

Knows nothing of messages or compression. Reading loads `wsproto`: imported when it is needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wsproto.extensions import Extension
from wsproto.frame_protocol import FrameDecoder, FrameProtocol, Opcode, ParseFailed, RsvBits

__all__ = ["FrameReader", "Opcode", "ParseFailed", "Part"]

_DATA: Final = (Opcode.TEXT, Opcode.BINARY)


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of one frame, unmasked: a large frame comes in parts as its bytes come.

    `size` is the whole frame's payload length; `frame_ends` and `message_ends` say what these are
    the last bytes of; `compressed` is the frame's own mark (RSV1, RFC 7692 section 6).
    """

    opcode: Opcode
    payload: bytes
    size: int
    compressed: bool
    frame_begins: bool
    frame_ends: bool
    message_ends: bool


class _HeaderWatch(Extension):
    """An extension that takes nothing from a frame but a look at its header."""

    name = "header-watch"

    def __init__(self, *, deflate: bool) -> None:
        self._deflate = deflate
        self.opcode = Opcode.BINARY
        self.size = 0
        self.compressed = False
        self.begun = False

    def offer(self) -> bool:
        return False

    def frame_inbound_header(
        self,
        proto: FrameDecoder | FrameProtocol,
        opcode: Opcode,
        rsv: RsvBits,
        payload_length: int,
    ) -> RsvBits:
        self.opcode, self.size, self.compressed, self.begun = opcode, payload_length, rsv.rsv1, True
        return RsvBits(self._deflate and opcode in _DATA, False, False)


class FrameReader:
    """Cuts frames out of what one side sends; `masked` is true for what a client sends."""

    def __init__(self, *, masked: bool, deflate: bool) -> None:
        self._watch = _HeaderWatch(deflate=deflate)
        self._frames = FrameDecoder(client=not masked, extensions=[self._watch])

    def read(self, data: bytes) -> Iterator[Part]:
        """What has come of the frames. Raises `ParseFailed` where it is no frame that may come."""
        self._frames.receive_bytes(data)
        while (frame := self._frames.process_buffer()) is not None:
            watch = self._watch
            begins, watch.begun = watch.begun, False
            assert isinstance(frame.payload, bytes)
            yield Part(
                watch.opcode,
                frame.payload,
                watch.size,
                watch.compressed,
                begins,
                frame.frame_finished,
                frame.frame_finished and frame.message_finished,
            )
