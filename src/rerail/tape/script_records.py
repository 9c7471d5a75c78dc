"""The facts of a durable script: each pause with the state saved there, and what it was answered.

Knows no engine: a state is bytes of which the tape says who made them. What the engine cannot
prove of its states is bound here: see `witness` in `ScriptPaused`, and `rerail.script.proof`.
"""

from typing import Literal

from rerail.tape.event import Body, Event

How = Literal["state", "answers"]
Printed = Literal["stdout", "stderr"]


class ScriptStarted(Event, frozen=True, kw_only=True, tag="script.started"):
    """A script began: its text, what it was given, what runs it, and within what limits.

    `inputs` is a JSON object of the names that were set before. `engine` is the engine's name and
    version. `tools` are the tools that the host offered; `repeatable` those of them that may be
    called again where it is not known whether they ran. `limits`: see `rerail.script.limits`.
    `witness`: this was begun by this user on this machine (a keyed hash).
    """

    name: str
    code: Body
    inputs: Body | None = None
    engine: str
    limits: dict[str, int] = {}
    tools: list[str] = []
    repeatable: list[str] = []
    witness: bytes = b""


class ScriptForked(Event, frozen=True, kw_only=True, tag="script.forked"):
    """This tape goes on from pause `pause` of another run.

    `events` is over how many of that tape's events the parent's id in `run.started` is the root:
    it may have been growing still. `history` is all that the script had been told up to that pause
    (`rerail.script.history`), so that this tape can be replayed without the other.
    """

    run_id: str
    pause: int
    events: int
    history: Body | None = None


class ScriptPaused(Event, frozen=True, kw_only=True, tag="script.paused"):
    """The script called a tool, and its whole state was saved before anything else happened.

    `pause` counts 1, 2, 3 …, and goes on counting in a fork. `call` is the engine's own number of
    the call, `line` the line of the script. `tool` and `arguments` (JSON) are what was asked.
    `calls`: the tool is called as soon as this is on the disk; else the script waits for an
    answer. `witness`: this state was saved by this user on this machine (a keyed hash).
    """

    pause: int
    token: str
    call: int
    tool: str
    arguments: Body
    state: Body
    line: int = 0
    calls: bool = False
    witness: bytes = b""


class ScriptCalled(Event, frozen=True, kw_only=True, tag="script.called"):
    """A tool is about to be called for a pause that was there already, for the nth time."""

    pause: int
    attempt: int


class ScriptAnswered(Event, frozen=True, kw_only=True, tag="script.answered"):
    """What a pause was answered with (JSON); `raised` is the kind of an error in its place."""

    pause: int
    token: str
    answer: Body
    raised: str = ""
    witness: bytes = b""


class ScriptAsked(Event, frozen=True, kw_only=True, tag="script.asked"):
    """The script read the clock or drew entropy, after pause `pause`; `value` is MessagePack."""

    pause: int
    name: str
    value: bytes


class ScriptPrinted(Event, frozen=True, kw_only=True, tag="script.printed"):
    """What the script printed since the pause before."""

    stream: Printed
    text: Body


class ScriptParked(Event, frozen=True, kw_only=True, tag="script.parked"):
    """The host closed the tape while the script waits at pause `pause`; it can be resumed."""

    pause: int


class ScriptResumed(Event, frozen=True, kw_only=True, tag="script.resumed"):
    """A host took the script up again at pause `pause`, from its state or from the answers."""

    pause: int
    how: How = "state"
    engine: str


class ScriptEnded(Event, frozen=True, kw_only=True, tag="script.ended"):
    """The script ended: with the value of its last line (JSON), or with an error."""

    output: Body | None = None
    error: str = ""


AnyScriptEvent = (
    ScriptStarted | ScriptForked | ScriptPaused | ScriptCalled | ScriptAnswered
    | ScriptAsked | ScriptPrinted | ScriptParked | ScriptResumed | ScriptEnded
)  # fmt: skip
