"""A recorded reply in which the agent finds its own identifiers again, where they were renamed.

A server echoes what the client made up, and the client of the replay expects its own. Only names of
the run's renaming are replaced, by names of the same length. Knows no socket.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from rerail.compare.body import READ_LIMIT
from rerail.compare.renaming import Renaming
from rerail.playback.plan import Content, Piece, Plan
from rerail.wire.coding import decode
from rerail.wire.http1 import parse_head


def in_present_names(plan: Plan, renaming: Renaming, used: Callable[[], None]) -> Plan:
    """The plan with recorded identifiers in their present names; `used` is called for each place.

    The body is looked at while it is sent. One under a content coding has to be undone first, and
    is then sent without the coding, if there is anything to replace in it.
    """
    if plan.head is None or not renaming.renamed:
        return plan
    head = _present(plan.head, renaming, used)
    plan = replace(
        plan, head=head, interim=tuple(_present(p, renaming, used) for p in plan.interim)
    )
    content = plan.content
    if content is None:
        return plan
    coding = (parse_head(head.data).get(b"content-encoding") or b"").decode("latin-1")
    if coding.strip().lower() not in ("", "identity"):
        return _uncoded(plan, content, coding, renaming, used)

    def read() -> Iterator[bytes]:
        return renaming.present_stream(content.read(), used)

    return replace(plan, content=replace(content, read=read))


def _present(piece: Piece, renaming: Renaming, used: Callable[[], None]) -> Piece:
    return Piece(piece.at, b"".join(renaming.present_stream(iter((piece.data,)), used)))


def _uncoded(
    plan: Plan, content: Content, coding: str, renaming: Renaming, used: Callable[[], None]
) -> Plan:
    pieces: list[bytes] = []
    size = 0
    for piece in content.read():
        pieces.append(piece)
        size += len(piece)
        if size > READ_LIMIT:
            return plan
    decoded = decode(b"".join(pieces), coding)
    if decoded is None:
        return plan
    there: list[None] = []
    body = b"".join(renaming.present_stream(iter((decoded,)), lambda: there.append(None)))
    if not there:
        return plan
    used()
    assert plan.head is not None
    data = _without_coding(plan.head.data, len(body))
    whole = Content(len(body), lambda: iter((body,)), trailers=content.trailers)
    return replace(plan, head=Piece(plan.head.at, data), content=whole)


def _without_coding(head: bytes, size: int) -> bytes:
    """The head without its coding, and with the body's length as it is now."""
    lines = []
    for line in head.split(b"\r\n"):
        name = line.partition(b":")[0]
        if name.strip().lower() == b"content-length":
            lines.append(name + b": %d" % size)
        elif name.strip().lower() != b"content-encoding":
            lines.append(line)
    return b"\r\n".join(lines)
