"""An agent's end of a replayed connection: sends bytes, and writes down what it is told."""

from rerail.playback.pace import Pace
from rerail.playback.player import Player
from rerail.playback.stage import Stage
from rerail.proxy.handler import Route
from rerail.redact.apply import Redactor
from rerail.tape.reader import Tape

HOST = "api.example.com"
ROUTE = Route(1, "https", HOST, 443, 1)


class Wire:
    """Writes down what is sent to the agent, and how its connection ended."""

    def __init__(self) -> None:
        self.said = b""
        self.end = ""

    def write(self, data: bytes) -> None:
        self.said += data

    def write_end(self) -> None:
        self.end = "half-closed"

    def close(self) -> None:
        self.end = "closed"

    def cut(self) -> None:
        self.end = "cut"

    def reset(self) -> None:
        self.end = "reset"

    def read_on(self, ready: bool) -> None:
        pass


def get(target: str, headers: str = "") -> bytes:
    """A request without a body, as it is sent."""
    return f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n{headers}\r\n".encode()


def stage_of(tape: Tape, pace: str = "fast") -> Stage:
    """All that the connections of a replay of this tape have in common."""
    return Stage(Player(tape), Pace.parse(pace), Redactor.create(key=bytes(32)))
