"""What stands in a text: identifiers, figures, amounts of money, consent. Knows no message.

All of it is reading of plain language and can miss; nothing here decides what a miss means.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

_IDENTIFIER: Final = re.compile(
    r"(?<![\w#])#?(?=[A-Za-z0-9][A-Za-z_-]{0,62}\d|\d)[A-Za-z0-9_-]{4,64}(?!\w)"
)
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(T.*)?|\d\d?:\d\d.*|\d+(st|nd|rd|th|am|pm|k|m|px|ms|s|x)"
)
_NAMED: Final = re.compile(r"(^|_)(id|ids|number|code|ref|reference|key)$")
_FIGURE: Final = re.compile(r"(?<![\w.])\d[\d,]{0,15}(?:\.\d+)?(?![\w])")
_AMOUNT: Final = re.compile(r"[$€£]\s?(\d[\d,]*(?:\.\d+)?)")
_LONGEST_FIGURE: Final = 12
_CONSENT: Final = re.compile(
    r"\b(yes|yeah|yep|yup|sure|ok|okay|confirm(ed|ing)?|proceed|continue|go ahead|"
    r"please do(?! not)|agreed?|correct|that works|works for me|absolutely|do it|let'?s do|"
    r"sounds (good|great|right|fine|appropriate)|that'?s fine|approved?|perfect|oui|sí|ja|sim)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")


def identifiers(text: str) -> set[str]:
    """The identifiers in a text, in small letters: words with a digit in them, not times or sizes.

    A number alone is one from five digits on.
    """
    found = set()
    for word in _IDENTIFIER.findall(text):
        if not _DATE.fullmatch(word.lower()) and not (word.isdigit() and len(word) < 5):
            found.add(word.lower().removeprefix("#"))
    return found


def identifier(value: Any) -> str:
    """A value that is one identifier and nothing beside it, in small letters; else nothing."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return ""
    plain = value.lower().removeprefix("#")
    return plain if plain in identifiers(value) else ""


def thing_in(key: str, value: Any) -> str:
    """The thing that a field names: an identifier by its form, or any one word by its key."""
    found = identifier(value)
    if not found and isinstance(value, str) and names_a_thing(key) and len(value.split()) == 1:
        found = value.lower().removeprefix("#")
    return found


def names_a_thing(key: str) -> bool:
    """Whether a field of this name holds identifiers, whatever they look like."""
    return bool(_NAMED.search(key.lower()))


def kind_of(thing: str) -> str:
    """What two identifiers of one kind have in common: the words before the number, or the form."""
    words = re.match(r"(.*?[a-z])[_-]?\d+$", thing)
    if words:
        return words.group(1)
    return re.sub(r"[a-z]", "a", re.sub(r"\d", "9", thing))


def figures(text: str) -> list[float]:
    """The numbers in a text, in order."""
    return [_number(word) for word in _FIGURE.findall(text) if len(word) <= _LONGEST_FIGURE]


def amounts(text: str) -> list[float]:
    """The amounts of money in a text, in order."""
    return [_number(word) for word in _AMOUNT.findall(text) if len(word) <= _LONGEST_FIGURE]


def _number(word: str) -> float:
    return round(float(word.replace(",", "")), 2)


def plain(text: str) -> str:
    """A text in small letters, with blanks for all that parts words."""
    return re.sub(r"[\s_\-]+", " ", text.lower()).strip()


def holds(text: str, phrase: str) -> bool:
    """Whether a plain text holds a phrase as words of its own."""
    if phrase not in text:
        return False
    return re.search(rf"(?<![\w.]){re.escape(phrase)}(?!\w)", text) is not None


def consents(text: str) -> bool:
    """Whether somebody says yes."""
    return _CONSENT.search(text) is not None


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without the blanks around them."""
    for found in _SENTENCE.findall(text):
        if found.strip(" -*#\t"):
            yield found.strip(" -*#\t")
