"""What a request of a replay gets: its recorded reply, a refusal, a stub, or the way out."""

from collections.abc import Callable

from msgspec import Struct

from rerail.compare.recorded import Match
from rerail.compare.side_calls import SideCall
from rerail.playback.onward import Edited
from rerail.playback.plan import Plan
from rerail.playback.report import Divergence


class Served(Struct, frozen=True):
    """The recorded reply. `request` is its number in the replay; `followed`: not its own reply."""

    request: int
    plan: Plan
    match: Match | None
    step: int | None = None
    followed: bool = False


class Refused(Struct, frozen=True):
    """`reply` is the whole refusal, ready to be written.

    `divergence` is None where a request was refused for another reason than not being on the tape.
    """

    request: int
    divergence: Divergence | None
    reply: bytes


class Stubbed(Struct, frozen=True):
    """A side call that the tape has no reply for: `reply` is a whole stub."""

    request: int
    side: SideCall
    reply: bytes


class GoLive(Struct, frozen=True):
    """Pass the request on to its origin: as it is, or as `edit` makes it from what was sent.

    `divergence` is set where it goes on live because it is not on the tape. `edit` raises
    `CannotGoOn`.
    """

    request: int
    divergence: Divergence | None = None
    edit: Callable[[bytes], Edited | None] | None = None


Answer = Served | Refused | Stubbed | GoLive


class Continue(Struct, frozen=True):
    """The origin asked for the body: `reply` is its interim head, to be sent before it comes."""

    reply: bytes
