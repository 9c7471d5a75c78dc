"""What an event points to: contents by digest, exchanges by number. Knows types, not storage."""

from dataclasses import dataclass

from msgspec.structs import fields

from rerail.tape.plane_records import ProposalMade, ScratchMade
from rerail.tape.records import (
    Body,
    Event,
    HttpRequest,
    HttpRequestEdited,
    McpMessage,
    ProbeLog,
    WorkspaceSnapshot,
    WsMessage,
)
from rerail.tape.trees import decode_tree


@dataclass(frozen=True, slots=True)
class Reference:
    """A content an event names; `chunks` is the table that must fit it, or None."""

    digest: bytes
    size: int
    chunks: bytes | None


def contents_of(event: Event) -> list[Reference]:
    """All contents that an event names; those that a tree names in its turn are not among them."""
    if isinstance(event, WsMessage | McpMessage | ProbeLog | HttpRequestEdited):
        return [Reference(event.content, event.size, None)]
    if isinstance(event, WorkspaceSnapshot | ScratchMade):
        return trees_of(event)
    if isinstance(event, ProposalMade):
        return [Reference(event.proposal_ref, event.size, None), *trees_of(event)]
    values = (getattr(event, field.name) for field in fields(event))
    bodies = [value for value in values if isinstance(value, Body)]
    return [Reference(body.digest, body.size, body.chunks) for body in bodies]


def trees_of(event: Event) -> list[Reference]:
    """The trees among them: their files are contents of the tape too."""
    match event:
        case WorkspaceSnapshot():
            return [Reference(event.tree, event.tree_size, None)]
        case ScratchMade():
            return [Reference(event.base, event.base_size, None)]
        case ProposalMade():
            before = Reference(event.base, event.base_size, None)
            return [before, Reference(event.tree, event.tree_size, None)]
    return []


def contents_of_tree(data: bytes) -> list[Reference]:
    """The files of a tree. Raises ValueError where it is none."""
    files = (entry for entry in decode_tree(data) if entry.kind == "file")
    return [Reference(entry.content, entry.size, None) for entry in files]


def exchange_of(event: Event) -> int:
    """The exchange an event belongs to, 0 for none."""
    return getattr(event, "exchange_id", 0)


def begins_exchange(event: Event) -> bool:
    """Whether this is the event that gives an exchange its number."""
    return isinstance(event, HttpRequest)
