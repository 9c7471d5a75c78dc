"""The facts a tape holds: one frozen type per kind of event. Knows no storage, network or clock.

An event is encoded once (`codec`), and the stored bytes are what is hashed. Large or raw content is
never inside an event: it is a blob, named by its SHA-256. What a model call *means* is never here:
it is a view, computed from the evidence by `rerail.llm` when someone looks.

Fields are only ever added, with a default; a field's meaning never changes. Text that came off the
wire (heads, trailers) is kept as the exact bytes, after redaction.
"""

from typing import Final, Literal

from msgspec import Struct

from rerail.tape.event import Body as Body
from rerail.tape.event import BodyEnd as BodyEnd
from rerail.tape.event import Component as Component
from rerail.tape.event import Event as Event
from rerail.tape.event import Framing as Framing
from rerail.tape.event import NotCaptured as NotCaptured
from rerail.tape.plane_records import AnyPlaneEvent
from rerail.tape.script_records import AnyScriptEvent

Side = Literal["agent", "origin"]
StreamName = Literal["stdin", "stdout", "stderr"]
StreamKind = Literal[
    "pipe",  # between agent and child: kept
    "file",  # a file's bytes from where the child began: kept
    "stdout",  # stderr only: the same as stdout, and kept there
    "inherited",  # the agent's own, such as the terminal: passes by
    "null",  # /dev/null
    "passed",  # another pipe, socket or terminal that the agent gave it: passes by
]
EditKind = Literal["hint", "answer", "patch"]
SnapshotReason = Literal["start", "step", "child", "restored", "end"]


class Edit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person had changed in every live request from a step on, the agent not knowing.

    `text` is the hint's, or JSON: a tool's other answers by the names of tools or calls, a patch of
    the request (RFC 6902).
    """

    step: int
    kind: EditKind
    text: str


class Parent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tape came from: the tape's id (`sha256:…`), and for a fork the step gone back to.

    `edits` are those of this fork and of the forks it came from, `turns` its budget of model calls,
    0 for none.
    """

    tape_id: str
    step: int = 0
    relation: Literal["replay", "fork"] = "replay"
    edits: list[Edit] = []
    turns: int = 0


class RunStarted(Event, frozen=True, kw_only=True, tag="run.started"):
    """The first event: everything the rest of the tape is bound to.

    `environment` holds only the variables that were named (`-e NAME`). `capture` says, for each
    kind of traffic, whether it could be captured here and what could not be ("http": "proxy
    variables", "clock": "no: …"). `facts` are facts about the machine that agents put into prompts
    (work path, home, user, host name, kernel release, date and time zone, git's commit and branch),
    left out with `--no-facts`.
    `witness` tells the user who recorded it, on this machine, from anybody else
    (`rerail.tape.witness`). `seed` is what the probes derived pseudo-random values from; empty
    where none were derived. `stray`: bytes that are no UTF-8 stand spelled out in its texts
    (`rerail.tape.codec.as_given`).
    """

    run_id: str
    task_id: str
    writer: str
    argv: list[str]
    cwd: str
    environment: dict[str, str] = {}
    capture: dict[str, str] = {}
    facts: dict[str, str] = {}
    parent: Parent | None = None
    witness: bytes = b""
    seed: bytes = b""
    stray: bool = False


class RunEnded(Event, frozen=True, kw_only=True, tag="run.ended"):
    """The last event: the command ended, and nothing more was recorded.

    `status` is the exit status as a shell would have it (128 + n for signal n).
    """

    status: int
    signal: int = 0
    reason: str = ""


class RunLost(Event, frozen=True, kw_only=True, tag="run.lost"):
    """Written by `verify --repair` only: the recorder died, and this is the end of what it kept."""

    reason: str


CHILDREN_UNSEEN: Final = "what its children say is not on the tape: no probe reaches it"
"""What `capture.missing` says of a program that asked a model and is neither Python nor Node."""


class CaptureMissing(Event, frozen=True, kw_only=True, tag="capture.missing"):
    """Something happened that could not be recorded, and what.

    `files` are paths that the process changed and that no snapshot holds.
    """

    what: str
    detail: str = ""
    process_id: int = 0
    files: list[str] = []


class ProcessStarted(Event, frozen=True, kw_only=True, tag="process.started"):
    """A process of the run began. `process_id` is the tape's own number: 1 is the command.

    A child that an agent started through its language's own library has `streams`: what `stdin`,
    `stdout` and `stderr` were to it. `shell`: a shell was asked to run `argv`'s last word. `failed`
    says why it could not be started, and then nothing more of it follows.
    """

    process_id: int
    argv: list[str]
    cwd: str
    pid: int = 0
    parent_process_id: int = 0
    shell: bool = False
    streams: dict[StreamName, StreamKind] = {}
    failed: str = ""


class ProcessOutput(Event, frozen=True, kw_only=True, tag="process.output"):
    """All that passed through one stream of a child, written when the stream ended.

    `stdin` is what the agent told it. `ended` is `complete` where the writer closed it, `reset`
    where its reader went away first, `cut` where the run was over first.
    """

    process_id: int
    stream: StreamName
    body: Body | None = None
    ended: BodyEnd = "complete"


class ProcessSignalled(Event, frozen=True, kw_only=True, tag="process.signalled"):
    """The agent sent a child a signal."""

    process_id: int
    signal: int


class ProcessEnded(Event, frozen=True, kw_only=True, tag="process.ended"):
    """A process of the run ended, with its exit status or the signal that ended it.

    `unknown`: it went on after the run, or nobody asked how it ended; `status` says nothing then.
    """

    process_id: int
    status: int
    signal: int = 0
    unknown: bool = False


class McpMessage(Event, frozen=True, kw_only=True, tag="mcp.message"):
    """One line of JSON-RPC between the agent and a child, as it was, its line end with it.

    `sender` is `agent`, or `origin` for the child: an MCP server over standard input and output.
    `joined`: it came in one piece with the line before it.
    """

    process_id: int
    sender: Side
    content: bytes
    size: int
    joined: bool = False


class ProbeLog(Event, frozen=True, kw_only=True, tag="probe.log"):
    """What the probe in one process wrote since the last such event: times and entropy handed out.

    `content` is the digest of its lines. Joined in order, they are the log of that process. `drawn`
    of them hold random bytes that may have become keys.
    """

    process_id: int
    content: bytes
    size: int
    drawn: int = 0


class ClockJumped(Event, frozen=True, kw_only=True, tag="clock.jumped"):
    """A rewound run went on live: its processes had been told the recorded time, now the real one.

    `before` and `after` are nanoseconds since 1970.
    """

    before: int
    after: int


class ConnectionFailed(Event, frozen=True, kw_only=True, tag="connection.failed"):
    """The recorder could not reach an origin for the agent.

    `phase` says how far it came. `shown` says what the agent was given instead: a `502` reply, or a
    certificate broken in the same way as the origin's (`expired`, `name`, `issuer`).
    """

    connection_id: int
    host: str
    port: int
    phase: Literal["resolve", "connect", "proxy", "tls"]
    reason: str
    error: str = ""
    shown: str = ""
    process_id: int = 0


class HttpRequest(Event, frozen=True, kw_only=True, tag="http.request"):
    """One request, written when it is complete or when its reply begins, whichever is first.

    `exchange_id` numbers the run's requests from 1 (`r1`, `r2` …) and joins all events of the
    exchange. `head` is the request line and header section as the origin was sent them, credentials
    replaced. Where the reply began first, `body` is absent and `http.request.body` follows.
    """

    exchange_id: int
    connection_id: int
    scheme: str
    host: str
    port: int
    head: bytes
    body: Body | None = None
    unfinished: bool = False
    process_id: int = 0


class HttpRequestBody(Event, frozen=True, kw_only=True, tag="http.request.body"):
    """The body of a request whose reply began before the request was complete."""

    exchange_id: int
    body: Body | None = None
    ended: BodyEnd = "complete"


class HttpRequestEdited(Event, frozen=True, kw_only=True, tag="http.request.edited"):
    """What the origin was sent in place of the body that the agent sent, and why.

    The agent's own is in `http.request`; on a WebSocket it is the last message before this event.
    `content` is the digest of the body sent, `size` its length in bytes, without a content coding.
    """

    exchange_id: int
    content: bytes
    size: int
    why: str


class HttpReplyHead(Event, frozen=True, kw_only=True, tag="http.reply.head"):
    """A status line and header section as the origin sent them, credentials replaced.

    An interim reply (1xx, RFC 9110 section 15.2) is one of these too: an exchange can have several
    heads, the last one final.
    """

    exchange_id: int
    head: bytes


class HttpReplyBody(Event, frozen=True, kw_only=True, tag="http.reply.body"):
    """The reply is over: its body, and how it ended.

    `cut` is a connection closed before the framing said so, `truncated` the same where TLS ended
    without its close_notify (RFC 9112 section 9.8), `reset` a connection reset, `agent_closed` an
    agent that went away first. `body` holds what had come by then.
    """

    exchange_id: int
    body: Body | None = None
    ended: BodyEnd = "complete"


class HttpFailed(Event, frozen=True, kw_only=True, tag="http.failed"):
    """A request went out and no final reply head came back: the outcome is unknown."""

    exchange_id: int
    ended: BodyEnd
    reason: str = ""


class WsOpened(Event, frozen=True, kw_only=True, tag="ws.opened"):
    """An exchange became a WebSocket (RFC 6455); `extensions` as negotiated in the reply."""

    exchange_id: int
    extensions: str = ""


class WsMessage(Event, frozen=True, kw_only=True, tag="ws.message"):
    """One message or control frame, decoded.

    `content` is the digest of the payload after decompression. `frames` is the table of the frames'
    payload lengths on the wire and their arrival times (`rerail.tape.chunks`). A message that never
    ended has `unfinished` set.
    """

    exchange_id: int
    sender: Side
    opcode: Literal["text", "binary", "ping", "pong"]
    content: bytes
    size: int
    frames: bytes = b""
    compressed: bool = False
    unfinished: bool = False


class WsClosed(Event, frozen=True, kw_only=True, tag="ws.closed"):
    """A close frame, or (1006, RFC 6455 section 7.1.5) a connection that ended without one."""

    exchange_id: int
    sender: Side
    code: int
    reason: str = ""


class TunnelOpened(Event, frozen=True, kw_only=True, tag="tunnel.opened"):
    """A connection that is not HTTP: its bytes are passed on and kept as they are."""

    connection_id: int
    host: str
    port: int
    why: str
    process_id: int = 0


class TunnelClosed(Event, frozen=True, kw_only=True, tag="tunnel.closed"):
    """The end of such a connection, with everything each side sent."""

    connection_id: int
    sent: Body | None = None
    received: Body | None = None
    ended: BodyEnd = "complete"


class WorkspaceSnapshot(Event, frozen=True, kw_only=True, tag="workspace.snapshot"):
    """A folder as it was at one moment: its tree by digest (`rerail.tape.trees`).

    `why` says the moment: the command has just begun; a model call's request (`exchange_id`) has
    been received, and its reply was held back until now; the process `process_id` has ended; a
    rewind has put files in place before it went on with `exchange_id`; the command has ended.
    `others` are further exchanges whose requests had been received by the same
    moment. `also` marks a folder beside the workspace. `files` and `size` (bytes) are
    what the tree holds, `added`, `changed` and `removed` count the paths against the snapshot of
    the folder before. `not_captured` is what has been left out since that snapshot, `left_out`
    counts all that is. `late` are the paths that were touched after the command began, before the
    first snapshot had read them. `inconsistent`: the folder changed while it was read. `witness` is
    what its user knows it by as recorded here (`rerail.tape.witness`).
    """

    folder: str
    tree: bytes
    tree_size: int
    why: SnapshotReason
    exchange_id: int = 0
    process_id: int = 0
    also: bool = False
    files: int = 0
    size: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    left_out: int = 0
    not_captured: list[NotCaptured] = []
    late: list[str] = []
    inconsistent: bool = False
    others: list[int] = []
    witness: bytes = b""

    @property
    def exchanges(self) -> tuple[int, ...]:
        """All model calls of whose requests this is the moment."""
        return (self.exchange_id, *self.others) if self.exchange_id else ()


class UnknownEvent(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event of a kind this version does not know: kept, counted and skipped, never refused."""

    name: str


AnyEvent = (
    RunStarted | RunEnded | RunLost | CaptureMissing | ProcessStarted | ProcessOutput
    | ProcessSignalled | ProcessEnded | McpMessage | ProbeLog
    | ClockJumped | ConnectionFailed
    | HttpRequest | HttpRequestBody | HttpRequestEdited | HttpReplyHead | HttpReplyBody | HttpFailed
    | WsOpened | WsMessage | WsClosed | TunnelOpened | TunnelClosed | WorkspaceSnapshot
    | AnyPlaneEvent
    | AnyScriptEvent
)  # fmt: skip


def kind_of(event: Event) -> str:
    """The kind as it stands on the tape: `http.request`; an unknown kind by its own name."""
    if isinstance(event, UnknownEvent):
        return event.name
    return str(event.__struct_config__.tag)
