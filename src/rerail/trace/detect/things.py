"""What the records say of a thing that has an identifier: how it is described, what else there was.

Read out of the JSON answers of tools. Knows no conversation.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.tools import words_of
from rerail.trace.detect.values import leaves
from rerail.trace.detect.words import identifier, names_a_thing, thing_in

_LARGEST: Final = 256 << 10
_DEPTH: Final = 12
_SHORTEST: Final = 2
_LONGEST: Final = 64


@dataclass(frozen=True)
class Sight:
    """A record of a thing: in the message `seen`, as `record`, one of `among` (itself with it).

    `key` is the field that holds the identifier, empty where the record stands under it.
    """

    seen: int
    key: str
    record: Mapping[str, Any]
    among: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Things:
    """All things that the tools of one run told of."""

    calls: Sequence[Call]

    @cached_property
    def _sights(self) -> dict[str, list[Sight]]:
        found: dict[str, list[Sight]] = defaultdict(list)
        for call in self.calls:
            if call.answered is not None and len(call.told) <= _LARGEST:
                for thing, sight in _seen(call.document, call.answered):
                    found[thing].append(sight)
        return found

    def known(self, thing: str, before: int) -> list[Sight]:
        """What had been told of it before a message, in order."""
        return [sight for sight in self._sights.get(thing, []) if sight.seen < before]

    def record(self, thing: str, key: str, before: int) -> Sight | None:
        """The last record that is of the thing itself, by this field or under its identifier."""
        own = [one for one in self.own(thing, before) if one.key in (key, "id", "")]
        return own[-1] if own else None

    def own(self, thing: str, before: int) -> list[Sight]:
        """The records that are of the thing itself: those that name it first of all things."""
        return [sight for sight in self.known(thing, before) if _is_own(sight)]

    def words(self, thing: str, before: int) -> frozenset[str]:
        """All short values by which the thing was described.

        Without those that the name of its field has too: `payment` is no word for what stands in a
        `payment_method_id`, since whatever else stood there would be called so.
        """
        found: set[str] = set()
        for sight in self.known(thing, before):
            found |= described(sight.record) - frozenset(words_of(sight.key))
        return frozenset(found)

    def alternatives(self, thing: str, before: int) -> Mapping[str, frozenset[str]]:
        """The things among which it was offered, itself with it, each with its own words.

        They stand beside each other in one record, by their identifiers. Empty where it stood
        alone.
        """
        for sight in reversed(self.known(thing, before)):
            if len(sight.among) > 1:
                return sight.among
        return {}


def _is_own(sight: Sight) -> bool:
    """An order may name its customer too: it is the record of the order, whose id stands first."""
    names = (str(key) for key in sight.record if names_a_thing(str(key)))
    return sight.key in ("", next(names, sight.key))


def _seen(document: Any, at: int, depth: int = 0) -> Iterator[tuple[str, Sight]]:
    if depth > _DEPTH:
        return
    if isinstance(document, dict):
        yield from _keyed(document, at)
        for key, value in document.items():
            thing = thing_in(str(key), value)
            if thing and names_a_thing(str(key)):
                yield thing, Sight(at, str(key), document, {})
            yield from _seen(value, at, depth + 1)
    elif isinstance(document, list):
        yield from _listed(document, at)
        for value in document:
            yield from _seen(value, at, depth + 1)


def _keyed(document: Mapping[str, Any], at: int) -> Iterator[tuple[str, Sight]]:
    """Records that stand under their identifiers: `{"card_1": {…}, "card_2": {…}}`."""
    under = {
        thing: value
        for key, value in document.items()
        if isinstance(value, dict) and (thing := identifier(key))
    }
    among = {thing: described(value) for thing, value in under.items()}
    for thing, value in under.items():
        yield thing, Sight(at, "", value, among)


def _listed(documents: list[Any], at: int) -> Iterator[tuple[str, Sight]]:
    """Records in a list that name themselves in a field `id`."""
    own = {
        thing: value
        for value in documents
        if isinstance(value, dict) and (thing := identifier(value.get("id")))
    }
    among = {thing: described(value) for thing, value in own.items()}
    if len(own) > 1:
        for thing, value in own.items():
            yield thing, Sight(at, "id", value, among)


def described(record: Mapping[str, Any]) -> frozenset[str]:
    """The short values of a record, in small letters."""
    return frozenset(
        text
        for _, value in leaves(record)
        if not isinstance(value, bool) and _SHORTEST <= len(text := str(value).lower()) <= _LONGEST
    )
