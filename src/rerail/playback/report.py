"""The report of a replay, as data with a published schema (`spec/replay-report.schema.json`).

Requests are `r3` in prose and 3 here, events `e12` and 12, model calls (steps) `s4` and 4. Fields
are only ever added. Knows nothing of how a replay is run.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from rerail.compare.divergence import Difference
from rerail.compare.misses import MissKind

FORMAT: Final = 1
SCHEMA_ID: Final = "urn:rerail:replay-report:1"


def _says(text: str) -> Meta:
    return Meta(description=text)


class TapeNamed(Struct, frozen=True, kw_only=True):
    """The tape that was replayed."""

    path: str
    id: Annotated[str, _says("sha256: and the root over all events")]
    run_id: str
    task_id: str
    state: Annotated[
        Literal["finished", "lost", "live"],
        _says("lost: its recorder died; live: it was still being written"),
    ]


class End(Struct, frozen=True, kw_only=True):
    """How a command ended."""

    status: Annotated[int, _says("the exit status as a shell has it: 128 + n for signal n")]
    signal: int = 0


class Containment(Struct, frozen=True, kw_only=True):
    """How far the command was cut off from the world while it was replayed."""

    level: Literal["not contained", "no network", "contained"]
    missing: Annotated[list[str], _says("the layers that could not be put up here")] = []


class Reason(Struct, frozen=True, kw_only=True):
    """One reason why a replay is not green."""

    code: Literal[
        "nothing_matched",
        "no_model_call_matched",
        "refused",
        "followed",
        "went_live",
        "unused_model_calls",
        "unused_requests",
        "ended_otherwise",
        "no_recorded_end",
        "not_contained",
        "child_diverged",
    ]
    text: str


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether the command followed its recording to the end; where not, every reason."""

    green: bool
    reasons: list[Reason] = []


class Counts(Struct, frozen=True, kw_only=True):
    """How many requests were answered how."""

    requests: Annotated[int, _says("requests that the command made")] = 0
    exact: Annotated[int, _says("matched byte for byte in all that is compared")] = 0
    equivalent: Annotated[int, _says("matched under named rules: see `rules`")] = 0
    side_calls: Annotated[int, _says("the client's own calls, answered by endpoint alone")] = 0
    refused: int = 0
    followed: Annotated[int, _says("answered with the nearest recorded reply")] = 0
    live: Annotated[int, _says("passed on to the real service")] = 0
    recorded: Annotated[int, _says("requests on the tape")] = 0
    recorded_model_calls: Annotated[int, _says("model calls on the tape, retries not counted")] = 0
    matched_model_calls: int = 0
    unused_model_calls: int = 0
    unused_others: Annotated[int, _says("unused requests that are no model calls")] = 0


class RuleUse(Struct, frozen=True, kw_only=True):
    """A rule under which requests count as equal, and how many it was needed for."""

    name: str
    reason: str
    source: Literal["built in", "table", "user"]
    used: int


class RenamedId(Struct, frozen=True, kw_only=True):
    """An identifier that the command made up anew, and the recorded one it stands for."""

    recorded: str
    now: str
    requests: Annotated[int, _says("how many requests it was in")]


class Recording(Struct, frozen=True, kw_only=True):
    """A recorded request."""

    exchange: Annotated[int, _says("its number: r3 is 3")]
    event: Annotated[int, _says("the number of its event: e12 is 12")]
    method: str
    url: str
    step: Annotated[int | None, _says("the number of the model call: s4 is 4")] = None
    attempt: Annotated[int, _says("which attempt at that model call")] = 1
    lane: Annotated[
        str, _says("of a model call beside the main ones, which is no step: `title`, `summary` …")
    ] = ""


class Divergence(Struct, frozen=True, kw_only=True):
    """A request of the replay that is not on the tape."""

    request: Annotated[int, _says("its number in this replay, by order: r3 is 3")]
    step: Annotated[
        int | None, _says("the number of the model call in this replay, retries not counted")
    ] = None
    message: Annotated[int | None, _says("which message of the agent on a WebSocket")] = None
    kind: Annotated[
        MissKind,
        _says(
            "different: not as the nearest unused request; used_up: recorded, and every time used; "
            "extra: its endpoint's requests are all used; never_asked: no such endpoint on the tape"
        ),
    ]
    text: Annotated[str, _says("the kind in a sentence")]
    method: str
    url: str
    process: Annotated[int, _says("the process that asked: 1 is the command, 0 unknown")] = 0
    field: Annotated[str, _says("the path of the first difference, as --ignore takes it")] = ""
    differences: list[Difference] = []
    nearest: Annotated[Recording | None, _says("the recorded request most like it")] = None
    answered: Literal["refused", "followed", "live"] = "refused"


class OutOfOrder(Struct, frozen=True, kw_only=True):
    """A request that came before one that was recorded earlier; noted, never a divergence."""

    request: int
    exchange: int
    before: Annotated[int, _says("the earlier recorded request, not yet asked")]


class BoundByArrival(Struct, frozen=True, kw_only=True):
    """Equal requests were under way at once: which got which reply is the order of arrival."""

    request: int
    exchange: int


class Unused(Struct, frozen=True, kw_only=True):
    """Something recorded that the replay never asked for."""

    recording: Recording
    side_call: Annotated[str, _says("the name of the side call; empty for any other request")] = ""
    turns: Annotated[int, _says("of a WebSocket that was used: the agent's messages left")] = 0


class Use(Struct, frozen=True, kw_only=True):
    """A recorded request, and whether the replay asked for it."""

    exchange: Annotated[int, _says("its number: r3 is 3")]
    event: Annotated[int, _says("the number of its event: e12 is 12")]
    how: Annotated[
        Literal["asked", "otherwise", "not asked", "by a child"],
        _says(
            "otherwise: asked otherwise and answered all the same, or its reply could not be read; "
            "by a child: it is of a child that was given back, and nobody asked"
        ),
    ]
    came: Annotated[list[int], _says("the model calls in it that came")] = []
    left: Annotated[list[int], _says("the model calls in it that did not come")] = []
    lane: Annotated[str, _says("as of a recorded request")] = ""
    side_call: Annotated[str, _says("the name of the side call; empty for any other request")] = ""


class WorkspaceUsed(Struct, frozen=True, kw_only=True):
    """Which files the command worked on, and how it left them. Facts: no part of the verdict."""

    files: Annotated[
        Literal["present", "recorded", "in-place"],
        _says(
            "present: a copy of the recorded start with what is otherwise now on top; recorded: "
            "the recorded start alone; in-place: the folder itself"
        ),
    ]
    folder: Annotated[str, _says("where the command ran, as it saw it")]
    why: Annotated[str, _says("why there was no copy, or why it could not be compared")] = ""
    at_recorded_path: Annotated[bool, _says("the copy was seen at its recorded path")] = False
    laid_on_top: Annotated[list[str], _says("files that are otherwise now than at the start")] = []
    as_recorded: Annotated[
        list[str],
        _says("files that are otherwise now, and not laid on top: the recorded run wrote them"),
    ] = []
    shown: Annotated[
        list[str], _says("what no snapshot holds, and was seen as it is now, not to be written")
    ] = []
    empty: Annotated[
        list[str], _says("what no snapshot holds, and is not here now: files without content")
    ] = []
    differing: Annotated[
        int, _says("paths that are otherwise at the end than the run left them")
    ] = 0
    differs: Annotated[list[str], _says("the first of them")] = []


class Tried(Struct, frozen=True, kw_only=True):
    """Something the command tried and its sandbox refused."""

    what: Literal["tcp", "udp", "name lookup", "unix socket", "raw socket", "write"]
    target: Annotated[str, _says("an address and port, or a path")]
    program: str
    pid: Annotated[int, _says("the process that tried it first")]
    count: Annotated[int, _says("how often this program tried it")] = 1


class ChildUse(Struct, frozen=True, kw_only=True):
    """A child process that the command started, and what became of it."""

    process: Annotated[int, _says("its number in this replay")]
    recorded: Annotated[int | None, _says("the recorded child that it is: p3 is 3")] = None
    argv: list[str]
    how: Annotated[
        Literal["given back", "run", "diverged"],
        _says(
            "given back: what it said and how it ended come from the tape; run: it ran for real; "
            "diverged: something was given back, and then it was told something else"
        ),
    ]
    why: Annotated[str, _says("why it ran, or where it diverged")] = ""
    unsaid: Annotated[
        list[str],
        _says("given back: those of its outputs that were the command's own, and are on no tape"),
    ] = []


class Report(Struct, frozen=True, kw_only=True):
    """What a replay did, and whether it followed its recording."""

    format: Annotated[int, _says("the version of this form")] = FORMAT
    rerail: Annotated[str, _says("the version of rerail that replayed")]
    tape: TapeNamed
    command: list[str]
    recorded_command: list[str]
    environment: Annotated[list[str], _says("the names of the variables that were set again")]
    containment: Containment
    verdict: Verdict
    ended: End
    recorded_end: Annotated[End | None, _says("null: the tape does not say how it ended")]
    pace: Annotated[str, _says("fast, recorded, or a factor")]
    duration_ms: float
    on_divergence: Literal["stop", "follow", "live"]
    counts: Counts
    divergence: Annotated[Divergence | None, _says("the first one")] = None
    later_divergences: list[Divergence] = []
    rules: list[RuleUse] = []
    renamed: Annotated[
        list[RenamedId], _says("identifiers made up anew, in the order in which they came")
    ] = []
    renamed_in_replies: Annotated[
        list[int],
        _says("requests whose replies hold such identifiers, given as the command knows them"),
    ] = []
    out_of_order: list[OutOfOrder] = []
    bound_by_arrival: list[BoundByArrival] = []
    unused: list[Unused] = []
    uses: Annotated[list[Use], _says("every request on the tape, in recorded order")] = []
    attempts: Annotated[list[Tried], _says("what the sandbox refused, as far as it is told")] = []
    children: list[ChildUse] = []
    notes: Annotated[list[str], _says("anything else a person should know")] = []
    workspace: Annotated[WorkspaceUsed | None, _says("null: nobody knows")] = None


def to_json(report: Report) -> bytes:
    """The report as indented JSON with a line end; text that is no Unicode is escaped."""
    try:
        content = msgspec.json.encode(report)
    except UnicodeEncodeError:
        content = msgspec.json.encode(_escaped(msgspec.to_builtins(report)))
    return msgspec.json.format(content, indent=2) + b"\n"


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return value


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a report: what `spec/` publishes."""
    described = msgspec.json.schema(Report)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "rerail replay report",
        **described,
    }
