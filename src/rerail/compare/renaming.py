"""Which present identifier stands for which recorded one, one to one through the whole run.

Only identifiers that the client made up are ever renamed: not one that came from outside before it
was used. Knows pairs of identifiers and `Outside`; no bodies.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rerail.compare.identifiers import identifiers, may_be_renamed
from rerail.compare.outside import Outside

MOST_AT_ONCE: Final = 512
"""Identifiers that one request may bring anew under other names."""
_RUN_CHARACTERS: Final = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"  # of identifiers.py
)
_HELD_BACK: Final = 4096


class Spot(NamedTuple):
    """An identifier of a request, or a fact (`kind` "fact"), as it is written there."""

    kind: str
    text: str


class Renaming:
    """The correspondence so far. `renamed` holds the pairs that are not equal, recorded first."""

    __slots__ = ("_now", "_recorded", "renamed")

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        self.renamed: dict[str, str] = {}

    def keep(self, texts: Sequence[str]) -> None:
        """These stood for themselves in a request that was matched."""
        for text in texts:
            self._now.setdefault(text, text)
            self._recorded.setdefault(text, text)

    def allows(
        self, pairs: Sequence[tuple[Spot, Spot]], outside: Outside, before: int
    ) -> dict[str, str] | None:
        """Which recorded identifier is which present one, by pairs at the same places.

        None where they cannot stand for each other with all that went before. `outside` must hold
        what came before the recorded request, which was event `before`, and all that was said.
        """
        there: dict[str, str] = {}
        back: dict[str, str] = {}
        kinds: dict[str, str] = {}
        for (kind, old), (_, new) in pairs:
            if old == new and old in self.renamed and outside.echoes(old):
                # The recorded reply brought it back in pieces, in which it could not be renamed.
                continue
            if there.setdefault(old, new) != new or back.setdefault(new, old) != old:
                return None
            kinds[old] = kind
        if not all(self._agrees(old, new) for old, new in there.items()):
            return None
        made = [(old, new) for old, new in there.items() if old != new and old not in self.renamed]
        if len(made) > MOST_AT_ONCE:
            return None
        for old, new in made:
            if not may_be_renamed(kinds[old], old, new):
                return None
            if outside.holds(old, before) or outside.holds(new, before):
                return None
            if outside.is_said(new):
                # It stands in the recording as something else, so it was not made up anew.
                return None
        return there

    def adopt(self, pairs: dict[str, str]) -> None:
        """From now on these stand for each other."""
        for old, new in pairs.items():
            self._now[old] = new
            self._recorded[new] = old
            if old != new:
                self.renamed[old] = new

    def present(self, data: bytes) -> bytes:
        """Bytes from the recording with recorded identifiers in their present names."""
        return b"".join(self.present_stream(iter((data,)), lambda: None))

    def present_stream(self, pieces: Iterator[bytes], used: Callable[[], None]) -> Iterator[bytes]:
        """The same for bytes that come in pieces; `used` is called where a name was replaced.

        No length changes. What may be the beginning of an identifier is held back until its end.
        """
        held = ready = b""
        for piece in pieces:
            if ready:
                yield ready
            data = held + piece
            end = len(data.rstrip(_RUN_CHARACTERS))
            end = len(data) if len(data) - end > _HELD_BACK else max(0, end - 1)
            ready, held = self._replaced(data[:end], used), data[end:]
        yield ready + self._replaced(held, used)

    def _agrees(self, old: str, new: str) -> bool:
        return self._now.get(old, new) == new and self._recorded.get(new, old) == old

    def _replaced(self, data: bytes, used: Callable[[], None]) -> bytes:
        text = data.decode("latin-1")
        parts: list[str] = []
        end = 0
        for found in identifiers(text):
            name = self.renamed.get(text[found.start : found.end])
            if name is not None:
                parts += [text[end : found.start], name]
                end = found.end
        if not parts:
            return data
        used()
        return ("".join(parts) + text[end:]).encode("latin-1")
