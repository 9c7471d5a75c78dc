"""What a request of a replay gets: its recorded reply, a refusal, a stub, or the way out."""

from msgspec import Struct

from rerail.compare.recorded import Match
from rerail.compare.side_calls import SideCall
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
    """Not on the tape: `reply` is the whole refusal, ready to be written."""

    request: int
    divergence: Divergence
    reply: bytes


class Stubbed(Struct, frozen=True):
    """A side call that the tape has no reply for: `reply` is a whole stub."""

    request: int
    side: SideCall
    reply: bytes


class GoLive(Struct, frozen=True):
    """Not on the tape, and asked to go on live: pass the request on to its origin."""

    request: int
    divergence: Divergence


Answer = Served | Refused | Stubbed | GoLive


class Continue(Struct, frozen=True):
    """The origin asked for the body: `reply` is its interim head, to be sent before it comes."""

    reply: bytes
