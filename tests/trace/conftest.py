"""Tapes of runs in two planes, gathered as a case would, for the tests of the investigation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rerail.cli.trace.words import TapeWords
from rerail.testing.plane_tapes import PlaneTape
from rerail.trace.diagnosis import Diagnosis
from rerail.trace.gathered import Gathered
from rerail.trace.investigation import diagnosed, look
from rerail.trace.link import Link
from rerail.trace.record import CaseSource
from rerail.trace.safety import Safety, safety
from rerail.trace.tape_source import TapeSource

LATER = 1_900_000_000_000_000_000
"""When every approval of these tapes has expired."""


@dataclass(frozen=True)
class Investigated:
    """What a case of some sources comes to."""

    sources: Sequence[CaseSource]
    found: Gathered
    links: list[Link]
    diagnosis: Diagnosis
    safety: Safety

    def standing(self, number: int) -> str:
        return self.links[number - 1].standing

    def first(self) -> str:
        """The kind of record at which the first divergence is, and its order: `check.ended 10`."""
        assert self.diagnosis.first is not None, self.diagnosis.because
        place = self.diagnosis.first.evidence[0]
        [record] = [one for one in self.found.deciding if one.ref == place.ref]
        return record.kind

    def missing(self) -> set[str]:
        return {one.what.partition(":")[0] for one in self.diagnosis.missing}


@pytest.fixture
def plane_tape(tmp_path: Path) -> Callable[..., PlaneTape]:
    """`plane_tape(name)` begins a tape of a run in two planes."""
    return lambda name="run.tape", **fields: PlaneTape.begin(tmp_path / name, **fields)


@pytest.fixture
def source() -> Iterator[Callable[..., TapeSource]]:
    """`source(path)` opens a tape as a source, closed after the test."""
    with ExitStack() as stack:

        def opened(path: Path, name: str = "A", **options: Any) -> TapeSource:
            found = TapeSource(name, path, TapeWords(), **options)
            stack.callback(found.close)
            return found

        yield opened


@pytest.fixture
def investigated(source: Callable[..., TapeSource]) -> Callable[..., Investigated]:
    """`investigated(path)` does what the verbs do, without a case."""

    def investigate(*paths: Path | CaseSource, now: int = LATER, held: str = "") -> Investigated:
        sources = [
            source(one, "ABCD"[index]) if isinstance(one, Path) else one
            for index, one in enumerate(paths)
        ]
        looked = look(sources)
        return Investigated(
            sources,
            looked.found,
            looked.links,
            diagnosed(sources, looked),
            safety(looked.found, now=now, held=held),
        )

    return investigate
