"""What was said between the people and the model, as against what tools told. Knows no tool.

Where a run's instructions want a person's word before something is changed, that word is here.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rerail.trace.detect.words import holds, identifiers, kind_of, plain, sentences
from rerail.trace.story import Said

_ASK_FIRST: Final = re.compile(r"\b(confirm\w*|approv\w*|permission|consent)\b", re.IGNORECASE)
_WORDS_AND_NUMBER: Final = re.compile(r"[a-z]+(?:[_-][a-z]+)*[_-](\d{4,})")
_BEFORE: Final = re.compile(r"\b(before|must|obtain|always|first|only after|explicit)\b", re.I)


@dataclass(frozen=True)
class Approval:
    """The last that was said before a write: what the model proposed, and what was replied.

    Both are indexes, None where there is no such message. `text` is both together.
    """

    proposed: int | None
    replied: int | None
    text: str
    reply: str

    @cached_property
    def named(self) -> dict[str, set[str]]:
        """The identifiers in it, by their kinds."""
        found: dict[str, set[str]] = {}
        for thing in identifiers(self.text):
            found.setdefault(kind_of(thing), set()).add(thing)
        return found


@dataclass(frozen=True)
class Talk:
    """The words of one conversation."""

    said: Sequence[Said]

    @cached_property
    def rule(self) -> str:
        """The sentence of the instructions that wants a person's word before a change, if any."""
        for one in self.said:
            if one.message.role == "system":
                for sentence in sentences(one.message.text):
                    if _ASK_FIRST.search(sentence) and _BEFORE.search(sentence):
                        return sentence
        return ""

    @cached_property
    def _plain(self) -> list[str]:
        return [
            plain(one.message.text) if one.message.role in ("user", "assistant") else ""
            for one in self.said
        ]

    def upto(self, index: int) -> str:
        """All that was said up to a message, it included, in plain form."""
        return "\n".join(text for text in self._plain[: index + 1] if text)

    def of_people(self, before: int) -> str:
        """All that people said before a message, in plain form."""
        said = zip(self.said[:before], self._plain, strict=False)
        return "\n".join(text for one, text in said if one.message.role == "user")

    @cached_property
    def _spoken_by(self) -> dict[str, list[int]]:
        """The messages that have words, by their role."""
        found: dict[str, list[int]] = {}
        for at, one in enumerate(self.said):
            if one.message.text.strip():
                found.setdefault(one.message.role, []).append(at)
        return found

    def last(self, role: str, before: int) -> int | None:
        """The last message of a role that has words, before this one."""
        spoken = self._spoken_by.get(role, [])
        at = bisect_left(spoken, before)
        return spoken[at - 1] if at else None

    def approval(self, index: int) -> Approval:
        """What was said last before this message, by the person and, before that, by the model."""
        replied = self.last("user", index)
        proposed = self.last("assistant", replied) if replied is not None else None
        reply = self.said[replied].message.text if replied is not None else ""
        before = self.said[proposed].message.text if proposed is not None else ""
        return Approval(proposed, replied, f"{before}\n{reply}", reply)


def named(
    thing: str, text: str, among: Mapping[str, frozenset[str]], words: frozenset[str]
) -> bool:
    """Whether a plain text names one of several things.

    By its identifier, or the number that it ends with; by its kind where no other is of it; or by
    words that are not all words of another. `among` are the things it is one of, with their words;
    `words` are all by which it is known.
    """
    if holds(text, plain(thing)):
        return True
    others = {other: known for other, known in among.items() if other != thing}
    number = _number(thing)
    if number and holds(text, number) and number not in map(_number, others):
        return True
    kind = plain(kind_of(thing))
    if kind not in {plain(kind_of(other)) for other in others} and _names_kind(kind, text, others):
        return True
    held = {word for word in words if word != thing and holds(text, plain(word))}
    return bool(held) and not any(held <= known for known in others.values())


def _number(thing: str) -> str:
    """The number after the words of an identifier: `4471` of `gift_card_4471`."""
    found = _WORDS_AND_NUMBER.fullmatch(thing)
    return found.group(1) if found else ""


def _names_kind(kind: str, text: str, others: Collection[str]) -> bool:
    """`credit card` is named by `card` too, once the gift cards are taken out of the text."""
    if holds(text, kind):
        return True
    for other in others:
        text = text.replace(plain(kind_of(other)), " ")
    last = kind.rpartition(" ")[2]
    return last.isalpha() and (holds(text, last) or holds(text, f"{last}s"))
