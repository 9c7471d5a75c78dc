"""What all events have in common, and the body that many of them name. Knows no kind of event."""

from typing import Literal

from msgspec import Struct

Component = Literal[
    "agent", "model", "tool", "runner", "sensor", "checker", "verdict", "approver", "applier",
    "target", "origin", "recorder", "person",
]  # fmt: skip
Framing = Literal["none", "length", "chunked", "close"]
BodyEnd = Literal["complete", "cut", "truncated", "reset", "agent_closed", "timeout"]


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message body: its bytes by digest, and how they came.

    `digest` is the SHA-256 of the content as it crossed the wire: content codings (gzip, br, zstd)
    kept, chunked framing (RFC 9112 section 7.1) taken off. `chunks` is the table of boundaries and
    arrival times, encoded by `rerail.tape.chunks`. `chunk_lines` is set only when the sender wrote
    its chunk-size lines in another form than plain lower-case hexadecimal (an extension, leading
    zeros, capitals), or broke off inside a chunk: all lines, as sent, the last chunk's included,
    joined. `trailers` is the raw
    trailer section, without the empty line that ends it.
    """

    digest: bytes
    size: int
    framing: Framing = "length"
    chunks: bytes = b""
    chunk_lines: bytes = b""
    trailers: bytes = b""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What every event has.

    `seq` is given by the writer: 1, 2, 3 … without a gap. `at` is nanoseconds since the run began
    (monotonic), `wall` nanoseconds since 1970. `component` says who acted.
    """

    seq: int = 0
    at: int
    wall: int
    component: Component = "recorder"


class NotCaptured(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something in a folder of which a snapshot holds no content, and why."""

    path: str
    why: str
