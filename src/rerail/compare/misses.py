"""Why a request is not in a recording: four kinds, each with its own text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.compare.canon import Request
from rerail.compare.divergence import Difference, Excuse, differences, no_excuse
from rerail.compare.recorded import Recorded
from rerail.compare.volatile import Rules

MissKind = Literal["different", "used_up", "extra", "never_asked"]

_NAMED: Final = 5
_TELLING: Final = 2
"""So many last parts of a path tell an endpoint: `chat/completions`."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A request that is not in the recording.

    `different`: its endpoint has requests that were not asked yet, and this is none of them.
    `used_up`: it was recorded, and each time is used. `extra`: its endpoint's requests are all
    used, and it is none of them. `never_asked`: the recording has no request to its endpoint.

    `nearest` is the recorded request that is most like it, `differences` what is not as there,
    `recorded` the exchanges that the text counts, `endpoints` what else the host was asked,
    `elsewhere` where the same was asked of another host: a base URL is set otherwise.
    """

    kind: MissKind
    request: Request
    nearest: Recorded | None = None
    differences: tuple[Difference, ...] = ()
    recorded: tuple[int, ...] = ()
    endpoints: tuple[str, ...] = ()
    elsewhere: str = ""

    @property
    def field(self) -> str:
        """The path of the first difference, as `--ignore` takes it; "" where there is none."""
        return self.differences[0].path if self.differences else ""


def miss(
    kind: MissKind,
    request: Request,
    nearest: Recorded | None,
    counted: Sequence[Recorded],
    rules: Rules,
    excuse: Excuse = no_excuse,
) -> Miss:
    """Put a miss together: reads the nearest body and compares it."""
    found: list[Difference] = []
    if nearest is not None and kind != "used_up":
        found = differences(nearest.whole(), request, rules, excuse)
    ids = tuple(recorded.exchange_id for recorded in counted)
    return Miss(kind, request, nearest, tuple(found), ids)


def never_asked(request: Request, recorded: Sequence[Recorded]) -> Miss:
    """A request to an endpoint that the recording does not have."""
    at_host = [item.request for item in recorded if item.request.host == request.host]
    asked = dict.fromkeys(f"{item.method} {item.url.partition('?')[0]}" for item in at_host)
    elsewhere = "" if asked else _elsewhere(request, recorded)
    return Miss("never_asked", request, endpoints=tuple(asked)[:_NAMED], elsewhere=elsewhere)


def _elsewhere(request: Request, recorded: Sequence[Recorded]) -> str:
    """The first recorded URL whose path ends as this one's does, in two parts or more."""
    end = request.path.rsplit("/", _TELLING)[-_TELLING:]
    if len(end) < _TELLING or not all(end):
        return ""
    for item in recorded:
        there = item.request
        if there.method == request.method and there.path.rsplit("/", _TELLING)[-_TELLING:] == end:
            return there.url.partition("?")[0]
    return ""


def explain(miss: Miss) -> str:
    """The miss in one sentence, without a full stop."""
    return _TEXTS[miss.kind](miss)


def _different(miss: Miss) -> str:
    if miss.nearest is None or not miss.differences:
        return "the recording has no such request"
    more = len(miss.differences) - 1
    others = f" and {more} more {'place' if more == 1 else 'places'}" if more else ""
    differs = "differ" if more else "differs"
    return f"{miss.field}{others} {differs} from the nearest recorded request, {_id(miss)}"


def _used_up(miss: Miss) -> str:
    count = len(miss.recorded)
    if count == 1:
        return f"the recording has this request once ({_ids(miss)}), and it is used up"
    return f"the recording has this request {count} times ({_ids(miss)}), and all are used up"


def _extra(miss: Miss) -> str:
    count = len(miss.recorded)
    had = "the one recorded request" if count == 1 else f"all {count} recorded requests"
    where = f"; the nearest was {_id(miss)}" if miss.nearest else ""
    return f"{had} to {_endpoint(miss.request)} {'is' if count == 1 else 'are'} used up{where}"


def _never_asked(miss: Miss) -> str:
    text = f"the recording has no request to {_endpoint(miss.request)}"
    if miss.elsewhere:
        return f"{text}, but to {miss.elsewhere}: is the base URL set as it was then (`-e`)?"
    return f"{text}; its host was asked {', '.join(miss.endpoints)}" if miss.endpoints else text


_TEXTS: Final = {
    "different": _different,
    "used_up": _used_up,
    "extra": _extra,
    "never_asked": _never_asked,
}


def _endpoint(request: Request) -> str:
    return f"{request.method} {request.url.partition('?')[0]}"


def _id(miss: Miss) -> str:
    return f"r{miss.nearest.exchange_id}" if miss.nearest else ""


def _ids(miss: Miss) -> str:
    shown = ", ".join(f"r{number}" for number in miss.recorded[:_NAMED])
    return f"{shown} …" if len(miss.recorded) > _NAMED else shown


_IDENTIFIER: Final = re.compile(
    r"\d+|[0-9a-fA-F]{8,}|[0-9a-fA-F-]{32,36}|(?=[\w-]*\d)[\w-]{16,}", re.ASCII
)


def path_template(path: str) -> str:
    """The path with what looks like an identifier replaced by `{}`, segment by segment."""
    return "/".join("{}" if _IDENTIFIER.fullmatch(part) else part for part in path.split("/"))
