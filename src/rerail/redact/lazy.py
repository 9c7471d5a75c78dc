"""Patterns that are compiled when they are first used: a recording should start at once."""

import re
from typing import AnyStr, Generic


class Lazy(Generic[AnyStr]):
    """A regular expression; `compiled` is the pattern that is made of it."""

    __slots__ = ("_flags", "_source", "compiled")

    compiled: re.Pattern[AnyStr]

    def __init__(self, source: AnyStr, flags: int = 0) -> None:
        self._source: AnyStr = source
        self._flags = flags

    def __getattr__(self, name: str) -> re.Pattern[AnyStr]:
        # Reached only while `compiled` has no value yet.
        if name != "compiled":
            raise AttributeError(name)
        self.compiled = re.compile(self._source, self._flags)
        return self.compiled
