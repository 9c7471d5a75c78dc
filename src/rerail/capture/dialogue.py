"""Finds out whether an agent and its child speak JSON-RPC in lines, and cuts what they say.

The agent speaks first: until its first line is complete, what it said is held. What is no such
dialogue is given back, piece by piece, with its times.
"""

from collections.abc import Callable

from rerail.tape.records import Side, StreamName
from rerail.wire.jsonrpc import LONGEST_FIRST_LINE, Lines, envelope

Keep = Callable[[Side, bytes, bool], None]


class DialogueRecord:
    """What a child was told and said, while it may be a dialogue.

    `keep` is given each line, its sender, and whether it came in one piece with the one before.
    """

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._lines = {"stdin": Lines(), "stdout": Lines()}
        self._held: list[tuple[int, bytes]] = []
        self._is_one = False

    def passed(self, name: StreamName, piece: bytes, at: int) -> bool:
        """A piece of standard input or output; False where this is no dialogue."""
        lines = self._lines[name].feed(piece)
        if not self._is_one:
            if name == "stdout":
                return False
            self._held.append((at, piece))
            if not lines:
                return self._lines[name].waiting < LONGEST_FIRST_LINE
            if envelope(lines[0]) is None:
                return False
            self._is_one = True
            self._held.clear()
        for number, line in enumerate(lines):
            self._keep("agent" if name == "stdin" else "origin", line, number > 0)
        return True

    def ended(self, name: StreamName) -> bool:
        """Nothing more passes through a stream; False where this is no dialogue."""
        if not self._is_one:
            return False
        rest = self._lines[name].end()
        if rest:
            self._keep("agent" if name == "stdin" else "origin", rest, False)
        return True

    def given_up(self) -> list[tuple[int, bytes]]:
        """What was held of standard input: (when, what)."""
        held, self._held = self._held, []
        return held
