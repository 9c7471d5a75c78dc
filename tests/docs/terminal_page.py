"""A page whose commands are typed in a terminal, one after the other, as a reader types them.

What is printed must be what the page shows: `…` alone on a line stands for any lines, and what is
another one each time (times, sizes, made-up ids, ports) counts as equal.
"""

import os
import pty
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_BLOCK: Final = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ANY: Final = "…"
_EACH_TIME: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\b\d{4}-\d\d-\d\d[ T][\d:.]+Z", "WHEN"),
        (r"\+?[\d.]+ (?:µs|ms|s)\b|\bin [\d.]+s\b|\+[\d.]+ (?:min|h)\b", "TIME"),
        (r"\b[\d.]+ (?:B|kB|MB)\b", "SIZE"),
        (r"\b(run|H|A|T)-[0-9a-f]{10,12}\b", r"\1-ID"),
        (r"sha256:[0-9a-f]+", "sha256:ID"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
        (r"\be\d+\b", "EVENT"),
        (r"\b\d+ records\b", "N records"),
        (r"\S*/bin/python3?\b", "python3"),
        (r"\s+", " "),
    )
)

_MADE_UP: Final = re.compile(r"\b(?:(?:run|H|A|T)-[0-9a-f]{10,12}|e\d+)\b")


@dataclass(frozen=True, slots=True)
class Typed:
    """A command of a page, with what the page says it prints."""

    command: str
    printed: tuple[str, ...]

    @property
    def answer(self) -> str:
        """What the reader answers to the question that it asks."""
        found = (re.search(r"\[y/N\] (\w+)$", line) for line in self.printed)
        return next((match[1] for match in found if match), "")


def typed(page: str) -> Iterator[Typed]:
    """The commands in the `console` blocks of a page."""
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
            yield Typed(command, tuple(printed.splitlines()))


def plain(line: str) -> str:
    """A line without what is another one each time."""
    for pattern, name in _EACH_TIME:
        line = pattern.sub(name, line)
    return line.strip()


def agree(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether these lines are those that a page shows."""
    lines = [plain(line) for line in printed if line.strip()]
    wanted = [plain(line) for line in shown if line.strip()]
    parts: list[list[str]] = [[]]
    for line in wanted:
        if line == _ANY:
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return lines == wanted
    first, *inner, last = parts
    if lines[: len(first)] != first or len(lines) < len(first) + len(last):
        return False
    end = len(lines) - len(last)
    if lines[end:] != last:
        return False
    at = len(first)
    for part in inner:
        found = (n for n in range(at, end - len(part) + 1) if lines[n : n + len(part)] == part)
        place = next(found, None)
        if place is None:
            return False
        at = place + len(part)
    return True


def learn(shown: Sequence[str], printed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Which made-up id of the page is which of those that were printed, line by line."""
    left = list(printed)
    for line in shown:
        found = next((other for other in left if plain(other) == plain(line)), None)
        if found is not None:
            left.remove(found)
            yield from zip(_MADE_UP.findall(line), _MADE_UP.findall(found), strict=True)


def translated(command: str, known: Mapping[str, str]) -> str:
    """A command of the page with the ids that were made up here."""
    return _MADE_UP.sub(lambda found: known.get(found[0], found[0]), command)


class Shell(AbstractContextManager["Shell"]):
    """A bash on a terminal: folder and variables stay from command to command.

    It is dumb, and 100 columns wide, unless `shown` sets `TERM` and `COLUMNS` otherwise.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], scratch: Path, **shown: str
    ) -> None:
        self._scratch = scratch
        self._left: list[subprocess.Popen[str]] = []
        self._state = scratch / "state"
        self._state.write_text(f"cd {folder}\n")
        fixed = {"TERM": "dumb", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        self._environment = {**environment, **fixed, **shown}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._left:
            process.terminate()
            process.communicate()

    def type(self, command: str, answer: str = "") -> list[str]:
        """The lines that a command prints; one that ends with `&` goes on, and says one line.

        `answer` is typed once it asks.
        """
        if command.endswith("&"):
            return [self._start(command.removesuffix("&"))]
        ours, theirs = pty.openpty()
        script = f". {self._state}\n{command}\n{{ declare -px; echo cd $PWD; }} > {self._state}"
        words = ["bash", "--norc", "-c", script]
        heard = theirs if answer else subprocess.DEVNULL
        with subprocess.Popen(
            words, env=self._environment, stdin=heard, stdout=theirs, stderr=theirs
        ):
            os.close(theirs)
            said = b"".join(_read(ours, f"{answer}\n".encode()))
        return said.decode("utf-8", "replace").replace("\r\n", "\n").splitlines()

    def _start(self, command: str) -> str:
        words = ["bash", "--norc", "-c", f". {self._state}\nexec {command}"]
        process = subprocess.Popen(
            words, env=self._environment, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._left.append(process)
        assert process.stdout is not None
        return process.stdout.readline().rstrip()


def _read(terminal: int, answer: bytes) -> Iterator[bytes]:
    """Until the other end is closed, which Linux tells as an error."""
    with suppress(OSError):
        while piece := os.read(terminal, 65536):
            yield piece
            if piece.endswith(b"[y/N] "):
                os.write(terminal, answer)
    os.close(terminal)
