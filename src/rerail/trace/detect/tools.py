"""What a tool's name says: whether it changes something. A guess from words, and named as one.

Knows no protocol: an agent's own tools declare nothing, so that their names are all there is.
"""

import re
from typing import Final

_READING: Final = """
    get list find search read fetch lookup look query show view describe check count calculate
    compute think plan grep glob ls cat head open browse inspect status history validate verify
    estimate preview translate summarize classify ask wait sleep load retrieve scan test tests lint
"""
_WRITING: Final = """
    add append apply approve assign attach book buy cancel change charge checkout close commit
    confirm create delete deploy disable drop edit enable exchange execute file grant insert issue
    merge modify move order patch pay place post publish push put refund register release remove
    rename replace reply reserve reset resolve restart return revoke save schedule send set ship
    submit subscribe transfer update upload upsert write
"""
_MEANING: Final = dict.fromkeys(_WRITING.split(), True) | dict.fromkeys(_READING.split(), False)
_OWN: Final = frozenset(("plan", "todo", "todos", "memory", "scratchpad", "thought"))
"""What an agent keeps for itself."""
_PEOPLE: Final = frozenset(("human", "agent", "supervisor", "operator"))
_CHANGES: Final = ("modify", "update", "change", "edit")
_DOES: Final = {
    "modified": _CHANGES,
    "changed": _CHANGES,
    "cancelled": ("cancel",),
    "canceled": ("cancel",),
    "exchanged": ("exchange",),
    "returned": ("return",),
    "deleted": ("delete", "remove"),
    "refunded": ("refund",),
    "closed": ("close",),
}
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_write(name: str) -> bool:
    """Whether a tool of this name changes something: the first word that says so decides.

    Handing over to a person changes nothing, nor does what an agent writes down for itself.
    """
    words = words_of(name)
    if hands_over(name) or not _OWN.isdisjoint(words):
        return False
    return next((_MEANING[word] for word in words if word in _MEANING), False)


def act_of(name: str) -> str:
    """The word in a tool's name that says what it does: `cancel` of `cancel_order`."""
    return next((word for word in words_of(name) if _MEANING.get(word)), "")


def only_reads(name: str) -> bool:
    """Whether a name says outright that nothing is changed; one that says nothing may change."""
    return next((not _MEANING[word] for word in words_of(name) if word in _MEANING), False)


def hands_over(name: str) -> bool:
    """Whether a tool of this name gives the matter to a person."""
    words = words_of(name)
    return "transfer" in words and any(word.rstrip("s") in _PEOPLE for word in words)


def does(name: str, done: str) -> bool:
    """Whether a tool of this name does what a sentence has as done: `cancelled`, `modified`."""
    return not set(words_of(name)).isdisjoint(_DOES.get(done.lower(), ()))


def words_of(name: str) -> list[str]:
    """The words in a tool's name, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]
