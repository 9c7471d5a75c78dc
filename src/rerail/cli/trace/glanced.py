"""What one look at a failed run comes to, and the commands that open its places. Prints nothing."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rerail.cli.trace.open import tapes_of
from rerail.cli.trace.safety import held
from rerail.cli.trace.shared import opened, opener, opens, seen_from_here
from rerail.clock import wall_ns
from rerail.tape.records import ProcessEnded, ProcessStarted
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.final import FinalState, final_state
from rerail.trace.finding import Evidence
from rerail.trace.gathered import Gathered
from rerail.trace.glance import ended_well, how_sure
from rerail.trace.investigation import diagnosed, look
from rerail.trace.record import CaseSource, Record
from rerail.trace.safety import Safety, safety
from rerail.trace.sources_of_case import SourceEntry, entries_of, next_name, opened_file
from rerail.trace.story import Story
from rerail.trace.taking import offered
from rerail.trace.tape_source import TapeSource
from rerail.workspace.changes import changes
from rerail.workspace.changes import held as without_left_out
from rerail.workspace.kept import Kept

_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class Glanced:
    """A run looked at. `paths` is where each source is, `case` the folder where there is one."""

    paths: Mapping[str, Path]
    sources: Sequence[CaseSource]
    case: Path | None
    found: Gathered
    diagnosis: Diagnosis
    final: FinalState
    safety: Safety
    stories: Sequence[Story] = ()

    @property
    def tape(self) -> TapeSource | None:
        """The failed run's own tape, None for what was imported."""
        first = self.sources[0]
        return first if isinstance(first, TapeSource) else None

    @property
    def spoken(self) -> bool:
        """Whether models were asked anything."""
        return any(story.said for story in self.stories)

    @property
    def well(self) -> bool:
        """Whether it ended well, and nothing speaks against it."""
        noticed = self.diagnosis.first is not None or self.diagnosis.candidates
        return not noticed and ended_well(self.found)

    @property
    def sure(self) -> list[str]:
        """How sure the first divergence is."""
        return how_sure(self.found, self.diagnosis)

    def record(self, place: Evidence) -> Record | None:
        """The record at a place, if it is one of those that decide."""
        at = (place.source, place.ref)
        return next((one for one in self.found.deciding if (one.source, one.ref) == at), None)

    def named(self, source: str = "") -> str:
        """A source's file as a word of a command; the first one's without a name."""
        return shlex.quote(str(self.paths[source or self.sources[0].name]))

    def opens(self, place: Evidence) -> str:
        """The command that opens a place, or where it stands in another program's file."""
        source = next((one for one in self.sources if one.name == place.source), None)
        if source is None:
            return ""
        return opens(self.paths[place.source], place, recorded=source.recorded)

    @property
    def unchecked(self) -> bool:
        """Whether nobody but the agent's own exit status says that it went well."""
        return self.found.last("task.ended") is None

    def last_seen(self) -> list[tuple[str, str]]:
        """What stands on record last, where nothing decides: what failed, and what was said."""
        failed = self._last_failed()
        return [*failed, *self._last_said()]

    def _last_failed(self) -> Iterator[tuple[str, str]]:
        """The last child of the agent that ended badly: often the check that it ran itself."""
        started: dict[int, ProcessStarted] = {}
        ended: ProcessEnded | None = None
        for event in self.tape.events() if self.tape is not None else ():
            if isinstance(event, ProcessStarted):
                started[event.process_id] = event
            elif isinstance(event, ProcessEnded) and event.process_id > 1 and badly(event):
                ended = event
        if ended is not None and ended.process_id in started:
            command = shlex.join(started[ended.process_id].argv)
            how = f"signal {ended.signal}" if ended.signal else f"status {ended.status}"
            what = f"the last command of the agent that failed: {command}, {how}"
            yield what, f"rerail show {self.named()} p{ended.process_id}"

    def _last_said(self) -> Iterator[tuple[str, str]]:
        story = self.stories[0] if self.stories else None
        said = [one for one in story.said if one.message.role == "assistant"] if story else []
        if story is not None and said:
            words = " ".join((said[-1].error or said[-1].message.text).split())
            what = f"the last words of the model: {words[:_WORDS]}" if words else ""
            if what:
                yield what, self.opens(Evidence(story.source, said[-1].ref))

    def changed(self) -> tuple[str, list[str]]:
        """The agent's folder, and the paths in it that ended otherwise than they began."""
        if self.tape is None:
            return "", []
        kept = Kept(self.tape.tape, self.tape.events())
        if len(kept.workspace) < 2:
            return "", []
        first, last = kept.workspace[0], kept.workspace[-1]
        found = changes(without_left_out(kept.tree(first)), without_left_out(kept.tree(last)))
        marked = [f"+ {entry.name}" for entry in found.added if not entry.is_folder]
        marked += [f"~ {now.name}" for _, now in found.changed if not now.is_folder]
        marked += [f"- {entry.name}" for entry in found.removed if not entry.is_folder]
        return first.folder, marked


@contextmanager
def glanced(run: str, number: int = 0) -> Iterator[Glanced]:
    """Look at a tape, a run by its identifier, another program's file, or a case.

    `number` is the run that is meant of a file that holds several.
    """
    folder = Path(run)
    if folder.is_dir():
        with opened(folder) as (case, sources):
            paths = {
                entry.name: seen_from_here(entry.found_at(folder)) for entry in entries_of(case)
            }
            yield _look(paths, sources, folder)
        return
    paths, taken, found = {}, list[SourceEntry](), list[CaseSource]()
    with ExitStack() as stack:
        for path in tapes_of(run):
            entry = offered(path, next_name(taken), run=number)
            taken.append(entry)
            found.append(stack.enter_context(opened_file(entry, opener())))
            paths[entry.name] = path
        yield _look(paths, found, None)


def _look(paths: Mapping[str, Path], sources: Sequence[CaseSource], case: Path | None) -> Glanced:
    looked = look(sources)
    final = final_state(looked.found)
    state = safety(looked.found, now=wall_ns(), held=held(final))
    diagnosis = diagnosed(sources, looked)
    return Glanced(paths, sources, case, looked.found, diagnosis, final, state, looked.stories)


def badly(ended: ProcessEnded) -> bool:
    """Whether a process ended otherwise than well, as far as that is known."""
    return not ended.unknown and bool(ended.signal or ended.status)
