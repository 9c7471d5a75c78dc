"""Random edits of a project: words, lines, signs, files. Each is made on top of those before it."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

WORD = re.compile(r"[A-Za-z_]\w*")
SIGNS = ("(", "}", ";", "!", "𝄞", '"', "\r\n", "\t", " as const", "?", ":")


@dataclass
class Edits:
    """Edits in one language: its file ending, words and lines that are put in."""

    ending: str
    words: tuple[str, ...]
    lines: tuple[str, ...]
    seed: int
    more: tuple[Callable[[random.Random, dict[str, str]], None], ...] = ()
    choose: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.choose = random.Random(self.seed)

    def edit(self, files: dict[str, str]) -> None:
        """One edit; words and lines come more often than what mostly breaks the syntax."""
        often = (self.word_for_word, self.word_for_word, self.line_added, self.line_twice)
        seldom = (self.line_away, self.sign_put_in, self.file_away, self.file_more)
        kind = self.choose.choice((often, often, seldom))
        if kind is seldom and self.more and self.choose.random() < 0.2:
            self.choose.choice(self.more)(self.choose, files)
        else:
            self.choose.choice(kind)(files)

    def word_for_word(self, files: dict[str, str]) -> None:
        path = self._source(files)
        if words := list(WORD.finditer(files[path])):
            word = self.choose.choice(words)
            other = self.choose.choice([*self.words, self.choose.choice(words).group()])
            files[path] = files[path][: word.start()] + other + files[path][word.end() :]

    def line_added(self, files: dict[str, str]) -> None:
        files[self._source(files)] += self.choose.choice(self.lines)

    def line_twice(self, files: dict[str, str]) -> None:
        path = self._source(files)
        lines = files[path].splitlines(keepends=True) or ["\n"]
        lines.insert(self.choose.randrange(len(lines)), self.choose.choice(lines))
        files[path] = "".join(lines)

    def line_away(self, files: dict[str, str]) -> None:
        path = self._source(files)
        if lines := files[path].splitlines(keepends=True):
            del lines[self.choose.randrange(len(lines))]
            files[path] = "".join(lines)

    def sign_put_in(self, files: dict[str, str]) -> None:
        path = self._source(files)
        at = self.choose.randrange(len(files[path]) + 1)
        files[path] = files[path][:at] + self.choose.choice(SIGNS) + files[path][at:]

    def file_away(self, files: dict[str, str]) -> None:
        if len(self._sources(files)) > 1:
            del files[self._source(files)]

    def file_more(self, files: dict[str, str]) -> None:
        path = self._source(files)
        folder = path.rpartition("/")[0]
        more = f"more{self.choose.randrange(3)}{self.ending}"
        files[f"{folder}/{more}" if folder else more] = files[path]

    def _sources(self, files: dict[str, str]) -> list[str]:
        return sorted(path for path in files if path.endswith(self.ending))

    def _source(self, files: dict[str, str]) -> str:
        return self.choose.choice(self._sources(files))
