"""A request without its spots: what is left when identifiers and facts are taken out, as a key.

Two requests of one skeleton have their spots at the same places, so they can be told pair by pair.
Knows one request at a time.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from rerail.compare.body import READ_LIMIT, read_body
from rerail.compare.canon import Fields, HeadKey, Request
from rerail.compare.facts import Facts
from rerail.compare.identifiers import identifiers
from rerail.compare.redacted import References, blank_bytes, blank_value
from rerail.compare.renaming import Spot
from rerail.compare.values import Unreadable, Value, value_digest, walk
from rerail.compare.volatile import BodyRule, blank

FACT: Final = "fact"

Place = tuple[str, str, str, int, str]
"""Method, scheme, host, port and the path without its spots."""


class Skeleton(Struct, frozen=True):
    """What is left of a request, and its spots: the head's first, the body's in a fixed order."""

    place: Place
    fields: Fields
    form: str
    body: bytes
    spots: tuple[Spot, ...]
    references: References

    @property
    def key(self) -> tuple[Place, Fields, str, bytes]:
        """Equal for requests that differ in their spots alone."""
        return self.place, self.fields, self.form, self.body


def place_of(head: HeadKey, facts: Facts) -> Place:
    """Where requests of one skeleton go."""
    method, scheme, host, port, path = head.endpoint
    return method, scheme, host, port, without_spots(path, facts, [])


def skeleton(
    request: Request, head: HeadKey, rules: Sequence[BodyRule], facts: Facts
) -> Skeleton | None:
    """A request's skeleton; None for one whose body was too large to be held."""
    if request.body is None or request.body_size > READ_LIMIT:
        return None
    spots: list[Spot] = []
    method, scheme, host, port, path = head.endpoint
    place = method, scheme, host, port, without_spots(path, facts, spots)
    fields = tuple((name, without_spots(value, facts, spots)) for name, value in head.loose)
    reading = read_body(
        request.body, request.header("content-type"), request.header("content-encoding")
    )
    of_head = len(spots)
    if reading.form not in ("none", "bytes"):
        try:
            value, references = blank_value(reading.value)
            value, _ = blank(value, rules)
            digest = value_digest(_value_without_spots(value, facts, spots))
            references = head.references + references
            return Skeleton(place, fields, reading.form, digest, tuple(spots), references)
        except Unreadable:
            del spots[of_head:]
    content, references = blank_bytes(reading.content)
    left = without_spots(content.decode("utf-8", "surrogateescape"), facts, spots)
    digest = hashlib.sha256(left.encode("utf-8", "surrogateescape")).digest()
    return Skeleton(place, fields, "bytes", digest, tuple(spots), head.references + references)


def _value_without_spots(value: Value, facts: Facts, spots: list[Spot]) -> Value:
    """The value, changed in place, without the spots of its texts; keys stay as they are."""
    holder: list[Value] = [value]
    for container, key in walk(holder):
        item = container[key]  # type: ignore[index]  # walk pairs each container with its own key
        if isinstance(item, str) and len(item) > _TOO_SHORT:
            container[key] = without_spots(item, facts, spots)  # type: ignore[index]
    return holder[0]


_TOO_SHORT: Final = 3


def without_spots(text: str, facts: Facts, spots: list[Spot]) -> str:
    """The text without its spots, which are added to `spots` in order. Facts come first."""
    parts: list[str] = []
    end = 0
    for start, stop in facts.find(text):
        parts += [_without_identifiers(text[end:start], spots), f"⟦{FACT}⟧"]
        spots.append(Spot(FACT, text[start:stop]))
        end = stop
    if not parts:
        return _without_identifiers(text, spots)
    return "".join(parts) + _without_identifiers(text[end:], spots)


def _without_identifiers(text: str, spots: list[Spot]) -> str:
    parts: list[str] = []
    end = 0
    for found in identifiers(text):
        parts += [text[end : found.start], f"⟦{found.kind}⟧"]
        spots.append(Spot(found.kind, text[found.start : found.end]))
        end = found.end
    return "".join(parts) + text[end:] if parts else text
