"""Connections that could not be made in the recording, met again in the replay. Pure."""

from collections import deque

from rerail.playback.script import Script
from rerail.tape.records import ConnectionFailed

Origin = tuple[str, int]


class Failures:
    """The failed connections of a tape, in order, by host and port."""

    __slots__ = ("_last", "_reached", "_waiting")

    def __init__(self, script: Script) -> None:
        self._waiting: dict[Origin, deque[ConnectionFailed]] = {}
        self._last: dict[Origin, ConnectionFailed] = {}
        self._reached: dict[Origin, int] = {}
        for failure in script.failures:
            origin = (failure.host, failure.port)
            self._waiting.setdefault(origin, deque()).append(failure)
            self._last[origin] = failure
        for item in script.exchanges.values():
            request = item.recorded.request
            self._reached[request.host, request.port] = item.event

    def met(
        self, host: str, port: int, next_event: int | None
    ) -> tuple[ConnectionFailed | None, bool]:
        """The failure that a new connection meets, and whether it was met before.

        `next_event` is the event of the next request to this origin that is not yet asked, None
        where there is none. A failure is met where it came before that. Where the origin was not
        reached after its last failure, every later connection meets that one again: how often a
        client tries goes by a timer.
        """
        origin = (host, port)
        waiting = self._waiting.get(origin)
        if waiting and (next_event is None or waiting[0].seq < next_event):
            return waiting.popleft(), False
        last = self._last.get(origin)
        if last is None or waiting or self._reached.get(origin, 0) > last.seq:
            return None, False
        return last, True
