"""WebSocket conversations as dialogues: what a client and a server wrote, and what was said."""

import os
import resource
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol

from rerail.wire import websocket
from rerail.wire.websocket import (
    NO_STATUS,
    Close,
    Control,
    Decoder,
    Encoder,
    Event,
    Frame,
    Message,
    Sender,
    Undecodable,
    accept_key,
)

DEFLATE = "permessage-deflate"


def peer(sender: Sender, extensions: str = "") -> FrameProtocol:
    """An independent implementation of one side."""
    deflate = PerMessageDeflate()
    if extensions:
        deflate.finalize(extensions)
    return FrameProtocol(client=sender == "agent", extensions=[deflate])


def text(sender: Sender, content: bytes, *sizes: int, **more: Any) -> Message:
    frames = tuple(Frame(size, 1) for size in sizes)
    return Message(sender, "text", content, len(content), frames, **more)


def fed(decoder: Decoder, sender: Sender, data: bytes, step: int = 1 << 20) -> list[Event]:
    events: list[Event] = []
    for start in range(0, len(data), step):
        events += decoder.feed(sender, data[start : start + step], at=1)
    return events


def test_the_accept_key_is_the_one_of_the_standard() -> None:
    """RFC 6455 section 1.3."""
    assert accept_key(b" dGhlIHNhbXBsZSBub25jZQ== ") == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


class TestDecoder:
    @pytest.mark.parametrize("step", [1, 2, 3, 1000])
    def test_the_examples_of_the_standard_are_read_however_they_are_cut(self, step: int) -> None:
        """RFC 6455 section 5.7."""
        decoder = Decoder()
        assert fed(decoder, "origin", bytes.fromhex("810548656c6c6f"), step) == [
            text("origin", b"Hello", 5)
        ]
        assert fed(decoder, "agent", bytes.fromhex("818537fa213d7f9f4d5158"), step) == [
            text("agent", b"Hello", 5)
        ]
        assert fed(decoder, "origin", bytes.fromhex("010348656c80026c6f"), step) == [
            text("origin", b"Hello", 3, 2)
        ]
        assert fed(decoder, "origin", bytes.fromhex("890548656c6c6f"), step) == [
            Control("origin", "ping", b"Hello", 1)
        ]
        assert fed(decoder, "agent", bytes.fromhex("8a8537fa213d7f9f4d5158"), step) == [
            Control("agent", "pong", b"Hello", 1)
        ]
        long = bytes.fromhex("827f0000000000010000") + bytes(65536)
        (message,) = fed(decoder, "origin", long, max(step, 1000))
        assert message == Message(
            "origin", "binary", bytes(65536), 65536, (Frame(65536, 1),), False, False
        )

    def test_the_compressed_examples_of_the_standard_are_read(self) -> None:
        """RFC 7692 sections 7.2.3.1 to 7.2.3.4: one context, a stored block, a last block."""
        decoder = Decoder(DEFLATE)
        hello = text("origin", b"Hello", 7, compressed=True)
        assert fed(decoder, "origin", bytes.fromhex("c107f248cdc9c90700")) == [hello]
        assert fed(decoder, "origin", bytes.fromhex("c105f200110000")) == [
            text("origin", b"Hello", 5, compressed=True)
        ]
        decoder = Decoder(DEFLATE)
        fragments = bytes.fromhex("4103f248cd8004c9c90700")
        assert fed(decoder, "origin", fragments) == [
            text("origin", b"Hello", 3, 4, compressed=True)
        ]
        stored = bytes.fromhex("c10b000500faff48656c6c6f00")
        assert fed(decoder, "origin", stored) == [text("origin", b"Hello", 11, compressed=True)]
        final = bytes.fromhex("c108f348cdc9c9070000")
        for _ in range(2):
            assert fed(decoder, "origin", final) == [text("origin", b"Hello", 8, compressed=True)]

    def test_a_ping_between_fragments_is_told_where_it_stood(self) -> None:
        sender = peer("origin")
        data = bytes(
            sender.send_data("Hel", fin=False) + sender.ping(b"?") + sender.send_data("lo")
        )
        assert fed(Decoder(), "origin", data) == [
            Control("origin", "ping", b"?", 1),
            text("origin", b"Hello", 3, 2),
        ]

    def test_each_frame_has_the_time_of_its_last_byte(self) -> None:
        decoder = Decoder()
        data = bytes(peer("origin").send_data("Hel", fin=False))
        assert decoder.feed("origin", data, at=5) == []
        rest = bytes.fromhex("80026c6f")
        assert decoder.feed("origin", rest[:3], at=6) == []
        (message,) = decoder.feed("origin", rest[3:], at=7)
        assert isinstance(message, Message)
        assert message.frames == (Frame(3, 5), Frame(2, 7))

    @pytest.mark.parametrize(
        ("payload", "code", "reason"),
        [
            (b"", NO_STATUS, ""),
            (b"\x03", NO_STATUS, ""),
            (b"\x0f\xa1bye", 4001, "bye"),
            (b"\x03\xee", 1006, ""),
            (b"\x03\xe8\xff", 1000, "�"),
        ],
    )
    def test_a_close_is_told_with_its_code_and_reason(
        self, payload: bytes, code: int, reason: str
    ) -> None:
        decoder = Decoder()
        frame = bytes([0x88, len(payload)]) + payload
        assert fed(decoder, "origin", frame + b"\x81\x01x") == [Close("origin", code, reason, 1)]
        assert decoder.feed("origin", b"\x81\x01x", at=2) == []

    def test_a_message_cut_by_a_close_or_an_end_is_unfinished(self) -> None:
        begun = bytes.fromhex("010348656c")
        decoder = Decoder()
        assert fed(decoder, "origin", begun + b"\x88\x00") == [
            text("origin", b"Hel", 3, unfinished=True),
            Close("origin", NO_STATUS, "", 1),
        ]
        decoder = Decoder()
        assert fed(decoder, "origin", bytes.fromhex("810548656c")) == []
        assert decoder.end() == [text("origin", b"Hel", unfinished=True)]
        assert decoder.end() == []

    @pytest.mark.parametrize(
        ("sender", "data", "reason"),
        [
            ("origin", "8301ff", "opcode"),
            ("origin", "c10548656c6c6f", "Reserved bit"),
            ("origin", "8185000000004865", "masked"),
            ("agent", "810548656c6c6f", "unmasked"),
            ("origin", "800141", "unbegun"),
            ("origin", "01014181014200", "inside another"),
            ("origin", "897e0100", "Control frame"),
            ("origin", "817fffffffffffffffff", "MSB"),
        ],
    )
    def test_what_cannot_be_read_is_said_once_and_never_raised(
        self, sender: Sender, data: str, reason: str
    ) -> None:
        decoder = Decoder()
        last = fed(decoder, sender, bytes.fromhex(data))[-1]
        assert isinstance(last, Undecodable)
        assert reason in last.reason
        assert decoder.feed(sender, bytes.fromhex("810548656c6c6f"), at=2) == []
        other: Sender = "agent" if sender == "origin" else "origin"
        assert fed(decoder, other, bytes(peer(other).send_data("x"))) == [text(other, b"x", 1)]

    def test_damaged_compression_is_undecodable(self) -> None:
        events = fed(Decoder(DEFLATE), "origin", bytes.fromhex("c104ffffffff"))
        assert [type(event) for event in events] == [Message, Undecodable]

    def test_an_unknown_extension_makes_marked_frames_undecodable(self) -> None:
        (event,) = fed(Decoder("x-something; a=1"), "origin", bytes.fromhex("c10141"))
        assert isinstance(event, Undecodable)

    @pytest.mark.parametrize("sender", ["agent", "origin"])
    @pytest.mark.parametrize(
        "extensions",
        [
            DEFLATE,
            f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover",
            f"{DEFLATE}; server_max_window_bits=9; client_max_window_bits=9",
            f"{DEFLATE}; server_no_context_takeover; client_max_window_bits=10",
        ],
    )
    def test_a_compressing_peer_is_understood(self, sender: Sender, extensions: str) -> None:
        writer, decoder = peer(sender, extensions), Decoder(f"other, {extensions}")
        for number in range(40):
            content = f"message {number % 7} of the conversation " * (number * 13)
            data = bytes(writer.send_data(content))
            (message,) = fed(decoder, sender, data, step=997)
            assert isinstance(message, Message)
            assert (message.payload, message.compressed) == (content.encode(), True)

    def test_a_message_above_the_limit_keeps_its_beginning_and_its_size(self) -> None:
        decoder = Decoder(DEFLATE, limit=10)
        plain = bytes(peer("agent").send_data(b"0123456789abc"))
        packed = bytes(peer("origin", DEFLATE).send_data(b"0" * 300_000))
        for sender, data, size in (("agent", plain, 13), ("origin", packed, 300_000)):
            (message,) = fed(decoder, sender, data)  # type: ignore[arg-type]
            assert isinstance(message, Message)
            assert (len(message.payload), message.size) == (10, size)
        assert fed(decoder, "agent", bytes(peer("agent").send_data("x"))) == [
            text("agent", b"x", 1)
        ]

    def test_frames_beyond_their_limit_are_told_with_the_last(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(websocket, "FRAMES_LIMIT", 2)
        data = b"\x01\x01a" + b"\x00\x01b" * 3 + b"\x80\x01c"
        assert fed(Decoder(), "origin", data) == [text("origin", b"abbbc", 1, 4)]

    def test_a_few_bytes_that_inflate_to_a_gigabyte_take_little_memory(self) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256))
        packed += packer.flush(zlib.Z_SYNC_FLUSH)[:-4]
        frame = struct.pack("!BBQ", 0xC2, 127, len(packed)) + packed
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (message,) = fed(Decoder(DEFLATE, limit=1 << 20), "origin", frame, step=1 << 16)
        assert isinstance(message, Message)
        assert message.size == 256 << 20
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10

    def test_a_thousand_large_messages_leave_no_memory_behind(self) -> None:
        decoder = Decoder()
        frame = struct.pack("!BBQ", 0x82, 127, 1 << 20) + bytes(1 << 20)
        fed(decoder, "origin", frame, step=1 << 16)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(200):
            assert len(fed(decoder, "origin", frame, step=1 << 18)) == 1
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10

    @given(st.data())
    def test_any_bytes_in_any_cuts_never_raise(self, data: st.DataObject) -> None:
        decoder = Decoder(data.draw(st.sampled_from(["", DEFLATE])))
        for sender, piece in data.draw(
            st.lists(st.tuples(st.sampled_from(["agent", "origin"]), st.binary(max_size=40)))
        ):
            decoder.feed(sender, piece, at=1)
        decoder.end()

    @given(st.text(max_size=80))
    def test_any_extension_header_is_taken(self, extensions: str) -> None:
        Decoder(extensions)
        Decoder(f"{DEFLATE}; {extensions}")


class TestEncoder:
    @pytest.mark.parametrize(
        ("extensions", "compressed"),
        [
            ("", False),
            (DEFLATE, True),
            (DEFLATE, False),
            (f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover", True),
            (f'{DEFLATE}; server_max_window_bits="9"; client_max_window_bits=9', True),
        ],
    )
    @pytest.mark.parametrize("sender", ["agent", "origin"])
    def test_an_independent_peer_understands_it(
        self, sender: Sender, extensions: str, compressed: bool
    ) -> None:
        other: Sender = "agent" if sender == "origin" else "origin"
        reader, writer = peer(other, extensions.replace('"', "")), Encoder(sender, extensions)
        for size in (0, 1, 125, 126, 65_535, 65_536, 200_000):
            content = os.urandom(size // 2) + b"x" * (size - size // 2)
            frames = writer.message("binary", content, compressed=compressed, frames=[1, 2, 3])
            assert len(frames) == 3
            reader.receive_bytes(b"".join(frames))
            assert b"".join(_payloads(reader)) == content

    def test_a_message_is_compressed_only_as_it_was(self) -> None:
        encoder = Encoder("origin", DEFLATE)
        assert encoder.message("text", b"Hello", compressed=True)[0][0] == 0xC1
        assert encoder.message("text", b"Hello") == [bytes.fromhex("810548656c6c6f")]

    @pytest.mark.parametrize("extensions", ["", f"{DEFLATE}; server_max_window_bits=8"])
    def test_what_cannot_be_compressed_goes_plain(self, extensions: str) -> None:
        (frame,) = Encoder("origin", extensions).message("text", b"Hello", compressed=True)
        assert frame == bytes.fromhex("810548656c6c6f")

    def test_the_frames_of_a_plain_message_are_the_recorded_ones(self) -> None:
        frames = Encoder("origin").message("text", b"Hello", frames=[3, 0, 2])
        assert frames == [bytes.fromhex(part) for part in ("010348656c", "0000", "80026c6f")]
        assert Encoder("origin").message("binary", b"", frames=[0, 0]) == [b"\x02\x00", b"\x80\x00"]

    def test_control_frames_are_written(self) -> None:
        encoder = Encoder("origin")
        assert encoder.ping(b"x" * 200) == b"\x89\x7d" + b"x" * 125
        assert encoder.pong() == b"\x8a\x00"
        assert encoder.close() == b"\x88\x00"
        assert encoder.close(4001, "bye") == b"\x88\x05\x0f\xa1bye"
        assert encoder.close(1000, "ü" * 80) == b"\x88\x7c\x03\xe8" + "ü".encode() * 61

    def test_an_agents_frames_are_masked_with_the_drawn_key(self) -> None:
        encoder = Encoder("agent", mask=lambda size: bytes.fromhex("37fa213d")[:size])
        assert encoder.message("text", b"Hello") == [bytes.fromhex("818537fa213d7f9f4d5158")]

    @given(
        st.sampled_from(["agent", "origin"]),
        st.sampled_from(
            ["", DEFLATE, f"{DEFLATE};server_no_context_takeover;client_no_context_takeover"]
        ),
        st.lists(
            st.tuples(
                st.sampled_from(["text", "binary"]),
                st.binary(max_size=200),
                st.booleans(),
                st.lists(st.integers(0, 100), max_size=4),
            ),
            max_size=8,
        ),
        st.integers(1, 50),
    )
    def test_the_decoder_reads_what_it_writes(
        self,
        sender: Sender,
        extensions: str,
        messages: Sequence[tuple[Any, bytes, bool, list[int]]],
        step: int,
    ) -> None:
        encoder, decoder = Encoder(sender, extensions), Decoder(extensions)
        for opcode, payload, compressed, frames in messages:
            written = encoder.message(opcode, payload, compressed=compressed, frames=frames)
            (message,) = fed(decoder, sender, b"".join(written), step)
            assert isinstance(message, Message)
            assert (message.opcode, message.payload) == (opcode, payload)
            assert message.compressed == (compressed and bool(extensions))
            assert len(message.frames) == max(1, len(frames))

    @pytest.mark.parametrize("code", [NO_STATUS, -1, 1 << 16, 1 << 64])
    def test_a_close_without_a_code_that_can_be_said_has_none(self, code: int) -> None:
        """As a stranger's tape may have one."""
        assert Encoder("origin").close(code, "why") == b"\x88\x00"


def _payloads(reader: FrameProtocol) -> Iterator[bytes]:
    for frame in reader.received_frames():
        assert isinstance(frame.payload, bytes)
        yield frame.payload


def test_importing_it_loads_no_library_of_frames() -> None:
    import subprocess
    import sys

    script = "import sys, rerail.wire.websocket; print('wsproto' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"False\n"
