"""Redaction: what makes an event or bytes fit for the tape. The only maker of cleaned records.

Credentials in heads, trailers, URLs and arguments are replaced by stable references, and so is
every known secret in any text of an event. Bodies pass: their rules are another matter. Pure: the
key and the secrets are given. Cleaning what is clean changes nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self

from msgspec.structs import replace

from rerail.redact.arguments import ArgumentCleaner
from rerail.redact.heads import HeadCleaner
from rerail.redact.known import KnownSecrets, secrets_in
from rerail.redact.lazy import Lazy
from rerail.redact.reference import References, from_wire
from rerail.redact.urls import UrlCleaner
from rerail.tape import plane_records as planes
from rerail.tape import records, script_records
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.records import Body, Event, NotCaptured, Parent

__all__ = ["Redactor", "secrets_in"]

# A bearer token outside a header that is known to hold one: in an error's text, in a shell command.
# A challenge (`Bearer realm="…"`) is none.
_BEARER_CLEANED = "earer ⟦".encode()
_BEARER = Lazy(rb"([Bb]earer +)(?=[\w.~+/-]*\d)([\w.~+/-]{12,}=*)(?![\w=\"])")

_REMEMBERED: Final = 1024
_REMEMBERED_SIZE: Final = 256
_HEADS: Final = 64
_HEAD_SIZE: Final = 1 << 12


class Redactor:
    """Replaces credentials, with one run's key: the same secret has the same reference."""

    __slots__ = ("_arguments", "_harmless", "_heads", "_known", "_read", "_references", "_urls")

    def __init__(self, references: References, known: KnownSecrets) -> None:
        self._references = references
        self._known = known
        self._urls = UrlCleaner(references)
        self._heads = HeadCleaner(references)
        self._arguments = ArgumentCleaner(references)
        self._harmless: set[str] = set()
        self._read: dict[bytes, bytes] = {}

    @classmethod
    def create(cls, *, key: bytes, secrets: Iterable[str] = ()) -> Self:
        """Make one for a run. `key` is 32 random bytes; `secrets` are values known to be secret.

        Secrets are replaced wherever they stand, so give none that is a common word: see
        `rerail.redact.known.secrets_in`.
        """
        references = References(key)
        return cls(references, KnownSecrets(secrets, references))

    def head(self, raw: bytes) -> bytes:
        """A request's or a reply's head, credentials replaced, every other byte as it was."""
        cleaned = self._read.get(raw)
        if cleaned is None:
            cleaned = self._text(self._heads.clean(from_wire(raw)))
            if len(self._read) >= _HEADS:
                self._read.clear()
            if len(raw) <= _HEAD_SIZE:
                self._read[raw] = cleaned
        return cleaned

    def fields(self, raw: bytes) -> bytes:
        """The same for a section without a start line: trailers."""
        return self._text(self._heads.clean(from_wire(raw), start_line=False))

    def text(self, text: str) -> str:
        """Any other text: an error, a reason, a line of a log; a host, which comes often."""
        if text in self._harmless:
            return text
        try:
            encoded = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            # A lone surrogate that is no byte's is spelled out, as on the tape.
            return self.text(text.encode("utf-8", "backslashreplace").decode())
        cleaned = self._text(from_wire(encoded))
        if cleaned is not encoded:
            return cleaned.decode("utf-8", "surrogateescape")
        if len(text) <= _REMEMBERED_SIZE and len(self._harmless) < _REMEMBERED:
            self._harmless.add(text)
        return text

    def arguments(self, argv: list[str]) -> list[str]:
        """The arguments of a command."""
        return [self.text(argument) for argument in self._arguments.clean(argv)]

    def body(self, data: bytes) -> CleanBytes:
        """Bytes of a body. They pass as they are."""
        return CleanBytes(data)

    def file(self) -> "FileCheck":
        """Begin a file of the workspace, or another content that is kept as it is or not at all."""
        return FileCheck(self._known)

    def record(self, event: Event) -> CleanRecord:
        """An event whose every text is free of credentials."""
        changes: dict[str, object] = {}
        for field, clean in _FIELDS.get(type(event), {}).items():
            value = getattr(event, field)
            if value:
                cleaned = clean(self, value)
                if cleaned is not value:
                    changes[field] = cleaned
        return CleanRecord(replace(event, **changes) if changes else event)

    def _text(self, content: bytes) -> bytes:
        content = self._urls.clean(content)
        if content.count(b"earer ") != content.count(_BEARER_CLEANED):
            content = _BEARER.compiled.sub(self._bearer, content)
        return self._known.clean(content)

    def _bearer(self, match: re.Match[bytes]) -> bytes:
        return match[1] + self._references.of(b"authorization", match[2])

    def _texts(self, texts: dict[str, str]) -> dict[str, str]:
        return {name: self.text(text) for name, text in texts.items()}

    def _lines(self, texts: list[str]) -> list[str]:
        return [self.text(text) for text in texts]

    def _not_captured(self, left: list[NotCaptured]) -> list[NotCaptured]:
        return [NotCaptured(path=self.text(item.path), why=self.text(item.why)) for item in left]

    def _parent(self, parent: Parent) -> Parent:
        """What a person had put in may hold a secret like any text."""
        edits = [replace(edit, text=self.text(edit.text)) for edit in parent.edits]
        return replace(parent, edits=edits) if edits != parent.edits else parent

    def _framing(self, body: Body) -> Body:
        """A body's trailers and chunk extensions; its content is elsewhere, by digest."""
        if not body.trailers and not body.chunk_lines:
            return body
        trailers, lines = self.fields(body.trailers), self._text(body.chunk_lines)
        return replace(body, trailers=trailers, chunk_lines=lines)


class FileCheck:
    """Lets the bytes of one file pass, up to the first known secret in them.

    A file cannot be kept changed: what is restored must be what was there. So it is kept whole, or
    left out where it holds a secret.
    """

    __slots__ = ("_before", "_known")

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._before = b""

    def piece(self, data: bytes) -> CleanBytes | None:
        """The next bytes of the file, None where a secret stands in them, or ends in them."""
        if self._known.stand_in(self._before + data if self._before else data):
            return None
        overlap = self._known.longest - 1
        self._before = (self._before + data[-overlap:])[-overlap:] if overlap > 0 else b""
        return CleanBytes(data)


_Clean = Callable[[Redactor, object], object]


def _table(
    *kinds: tuple[type[Event], dict[str, object]],
) -> Mapping[type[Event], Mapping[str, _Clean]]:
    return dict(kinds)  # type: ignore[arg-type]  # each cleaner takes what its field holds


_TEXT, _TEXTS, _LINES, _HEAD, _ARGUMENTS, _BODY = (
    Redactor.text,
    Redactor._texts,
    Redactor._lines,
    Redactor.head,
    Redactor.arguments,
    Redactor._framing,
)

# `environment` is not here: those variables were named by the user to be kept, and are set again.
_FIELDS: Final = _table(
    (
        records.RunStarted,
        {
            "argv": _ARGUMENTS,
            "cwd": _TEXT,
            "capture": _TEXTS,
            "facts": _TEXTS,
            "parent": Redactor._parent,
        },
    ),
    (records.RunEnded, {"reason": _TEXT}),
    (records.RunLost, {"reason": _TEXT}),
    (records.CaptureMissing, {"what": _TEXT, "detail": _TEXT, "files": Redactor._lines}),
    (records.ProcessStarted, {"argv": _ARGUMENTS, "cwd": _TEXT, "failed": _TEXT}),
    (records.ProcessOutput, {"body": _BODY}),
    (records.ConnectionFailed, {"host": _TEXT, "reason": _TEXT, "error": _TEXT}),
    (records.HttpRequest, {"head": _HEAD, "host": _TEXT, "body": _BODY}),
    (records.HttpRequestBody, {"body": _BODY}),
    (records.HttpRequestEdited, {"why": _TEXT}),
    (records.HttpReplyHead, {"head": _HEAD}),
    (records.HttpReplyBody, {"body": _BODY}),
    (records.HttpFailed, {"reason": _TEXT}),
    (records.WsOpened, {"extensions": _TEXT}),
    (records.WsClosed, {"reason": _TEXT}),
    (records.TunnelOpened, {"host": _TEXT, "why": _TEXT}),
    (records.TunnelClosed, {"sent": _BODY, "received": _BODY}),
    (
        records.WorkspaceSnapshot,
        {"folder": _TEXT, "late": _LINES, "not_captured": Redactor._not_captured},
    ),
    (planes.TaskAccepted, {"version": _TEXT, "contract": _BODY, "source": _TEXT}),
    (
        planes.ObservationRead,
        {
            "name": _TEXT,
            "version": _TEXT,
            "wanted_version": _TEXT,
            "content": _BODY,
            "source": _TEXT,
            "path": _TEXT,
            "problem": _TEXT,
        },
    ),
    (
        planes.BaselineLoaded,
        {
            "name": _TEXT,
            "version": _TEXT,
            "content": _BODY,
            "wanted_version": _TEXT,
            "source": _TEXT,
            "problem": _TEXT,
        },
    ),
    (planes.ScratchMade, {"folder": _TEXT, "source": _TEXT, "left_out": Redactor._not_captured}),
    (
        planes.AgentContained,
        {"layers": _LINES, "lacking": _TEXTS, "hidden": _LINES, "writable": _LINES},
    ),
    (planes.ProposalMade, {"left_out": Redactor._not_captured}),
    (planes.CheckStarted, {"argv": _ARGUMENTS, "version": _TEXT, "folder": _TEXT}),
    (planes.CheckEnded, {"output": _BODY, "errors": _BODY, "problem": _TEXT, "left": _LINES}),
    (planes.CheckResult, {"name": _TEXT, "detail": _TEXT, "tests": _TEXT}),
    (planes.VerdictEmitted, {"rule": _TEXT, "detail": _TEXT}),
    (planes.ApprovalRequested, {"target": _TEXT, "who": _LINES, "programs": _TEXTS}),
    (
        planes.ApprovalDecided,
        {"target": _TEXT, "who": _TEXT, "reason": _TEXT, "evidence": _BODY},
    ),
    (planes.ApprovalUnusable, {"target": _TEXT, "detail": _TEXT}),
    (planes.ActionAttempted, {"target": _TEXT, "argv": _ARGUMENTS}),
    (planes.ActionResult, {"output": _BODY, "errors": _BODY, "reason": _TEXT}),
    (
        planes.TargetRead,
        {
            "target": _TEXT,
            "argv": _ARGUMENTS,
            "content": _BODY,
            "errors": _BODY,
            "problem": _TEXT,
        },
    ),
    (
        planes.ActionReconciled,
        {"who": _TEXT, "output": _BODY, "errors": _BODY, "reason": _TEXT},
    ),
    (planes.CleanupDone, {"folder": _TEXT, "reason": _TEXT}),
    (planes.HoldPlaced, {"reason": _TEXT, "who": _TEXT}),
    (planes.HoldReleased, {"reason": _TEXT, "who": _TEXT}),
    (planes.HoldMet, {"reason": _TEXT, "why": _TEXT}),
    (planes.RetryDecided, {"reason": _TEXT}),
    (planes.TaskEnded, {"reason": _TEXT}),
    (
        script_records.ScriptStarted,
        {
            "name": _TEXT,
            "code": _BODY,
            "inputs": _BODY,
            "engine": _TEXT,
            "tools": Redactor._lines,
            "repeatable": Redactor._lines,
        },
    ),
    (script_records.ScriptForked, {"history": _BODY}),
    (script_records.ScriptPaused, {"tool": _TEXT, "arguments": _BODY, "state": _BODY}),
    (script_records.ScriptAnswered, {"answer": _BODY, "raised": _TEXT}),
    (script_records.ScriptAsked, {"name": _TEXT}),
    (script_records.ScriptPrinted, {"text": _BODY}),
    (script_records.ScriptResumed, {"engine": _TEXT}),
    (script_records.ScriptEnded, {"output": _BODY, "error": _TEXT}),
)
