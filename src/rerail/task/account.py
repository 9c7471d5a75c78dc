"""The run's account: facts of both planes onto its tape, in order, on the disk when it matters.

What commands said goes through the redactor as a text: a credential that the target's own command
prints does not reach the tape.
"""

from typing import Any

from rerail.capture.recorder import Recorder
from rerail.errors import TapeWriteFailed
from rerail.launch.errand import Errand
from rerail.tape.event import Body, Component, Event


class Account:
    """Writes events of the planes by way of a recorder. Safe from several threads."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def note(self, kind: type[Event], by: Component, **fields: Any) -> int:
        """Put a fact down; returns its number."""
        return self.recorder.emit(
            lambda at, wall: kind(at=at, wall=wall, component=by, **fields), urgent=True
        )

    def kept(self) -> None:
        """Return when everything noted so far is on the disk. Raises TapeWriteFailed."""
        self.recorder.writer.flush()
        failed: TapeWriteFailed | None = self.recorder.failed
        if failed is not None:
            raise failed

    def blob(self, content: bytes) -> bytes:
        """Keep bytes as they are; returns their digest."""
        return self.recorder.writer.blob(self.recorder.redactor.body(content))

    def document(self, content: bytes) -> Body:
        """Keep a file as it is, as evidence."""
        return Body(digest=self.blob(content), size=len(content), framing="none")

    def said(self, content: bytes) -> Body | None:
        """Keep what a command said, without the credentials that are known; None for nothing."""
        if not content:
            return None
        text = content.decode("utf-8", "surrogateescape")
        cleaned = self.recorder.redactor.text(text).encode("utf-8", "surrogateescape")
        return self.document(cleaned)

    def outcome(self, done: Errand) -> dict[str, Any]:
        """How a command ended, as the fields of an event say it."""
        return {"status": done.status, "signal": done.signal, "timed_out": done.timed_out}
