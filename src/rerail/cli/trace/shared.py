"""What the steps of an investigation share: the case, who writes, how its sources are opened."""

import getpass
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from rerail.cli.screen.texts import one_line, say, styled
from rerail.cli.trace.words import TapeWords
from rerail.clock import wall_ns
from rerail.errors import UsageProblem
from rerail.proxy.certs import Authority, default_folder
from rerail.trace.case import Case, Entry
from rerail.trace.case_seal import seal_key
from rerail.trace.finding import Evidence, Finding
from rerail.trace.log_source import LogSource, read_mapping
from rerail.trace.record import CaseSource
from rerail.trace.safety import State
from rerail.trace.sources_of_case import Opener, SourceEntry, opened_sources
from rerail.trace.story_source import StorySource
from rerail.trace.tape_source import TapeSource

STATE_COLOURS: Final[Mapping[State, str]] = {
    "contained": "green",
    "rolled back": "green",
    "applied": "yellow",
    "partially applied": "red",
    "unresolved": "red",
}
case_argument = click.argument("case", type=click.Path(path_type=Path))
by_option = click.option(
    "--by", metavar="NAME", help="Who writes this record of the case; else the name of the login."
)
number_option = click.option(
    "--run",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="The run that is meant of a file that holds several.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="The result as JSON.")


def author(name: str | None) -> str:
    """Who writes. Raises UsageProblem where nobody knows."""
    if name is not None and name.strip():
        return name.strip()
    if name is None:
        try:
            return getpass.getuser()
        except (KeyError, OSError, ImportError):
            pass
    raise UsageProblem("a record of a case has an author", hint="write --by NAME")


def own_key() -> bytes:
    """The key by which this user, on this machine, seals cases."""
    return seal_key(Authority.open_or_create(default_folder(os.environ)).witness_key)


def write(case: Case, kind: str, by: str | None, body: Mapping[str, Any]) -> Entry:
    """Add a record to a case, dated now."""
    return case.add(kind, by=author(by), written=wall_ns(), body=body)


def opener() -> Opener:
    """How the sources of a case are opened by this program."""
    words = TapeWords()

    def open_source(entry: SourceEntry, path: Path) -> CaseSource:
        if entry.kind == "tape":
            return TapeSource(entry.name, path, words, tape_id=entry.tape_id)
        if entry.kind == "log":
            return LogSource(entry.name, path, read_mapping(entry.mapping.encode(), "of the case"))
        from rerail.formats.reading import read

        return StorySource(entry.name, path.name, read(path, name=entry.name, run=entry.run))

    return open_source


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Case, list[CaseSource]]]:
    """A case and its sources."""
    case = Case.open(folder, own_key)
    with opened_sources(case, opener()) as sources:
        yield case, sources


def places(evidence: Iterable[Evidence]) -> str:
    """Evidence as it is written behind a line: `[A e41, A e44]`."""
    found = ", ".join(dict.fromkeys(f"{place.source} {place.ref}" for place in evidence))
    return f"  [{found}]" if found else ""


def opens(path: Path, place: Evidence, *, recorded: bool) -> str:
    """The command that opens a place, or where it stands in another program's file."""
    if not recorded:
        return f"{place.ref} of {path}"
    return f"rerail show {shlex.quote(str(seen_from_here(path)))} {place.ref}"


def seen_from_here(path: Path) -> Path:
    """A path as it is typed here, where that is shorter."""
    return min(path, Path(os.path.relpath(path)), key=lambda one: len(str(one)))


def command(text: str, *, indent: int = 4) -> None:
    """A line to be pasted into a shell."""
    if text:
        say(styled(" " * indent + one_line(text), fg="cyan"))


def say_finding(finding: Finding, mark: str) -> None:
    """A finding in one line: an interpretation, so it is set apart from facts."""
    say(one_line(f"  {mark} {finding.what}{places(finding.evidence)}"))


def heading(text: str) -> None:
    """A heading of a result."""
    say(styled(one_line(text), bold=True))


def section(title: str, findings: Sequence[Finding], mark: Callable[[Finding], str]) -> None:
    """A heading and its findings, or nothing."""
    if not findings:
        return
    say()
    heading(title)
    for finding in findings:
        say_finding(finding, mark(finding))
