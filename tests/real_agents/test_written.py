"""Real programs do their errands, and what they wrote of it is imported: as the kept files are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.formats.reading import import_file
from tests.formats.outline import outline
from tests.formats.outlines import OUTLINES, formats_of
from tests.real_agents.written import WRITERS, written


@pytest.mark.parametrize("name", WRITERS)
def test_a_fresh_file_is_read_as_the_kept_one(
    name: str, agents: Path, tmp_path: Path, need: Callable[[Path], Path]
) -> None:
    need(agents / WRITERS[name].needs)
    files = written(name, agents, tmp_path)
    imported = [import_file(file) for file in files]
    assert [one.format for one in imported] == formats_of(name, len(OUTLINES[name]))
    assert [outline(one.stories[0]) for one in imported] == OUTLINES[name]
    gaps = [gap.what for one in imported for story in one.stories for gap in story.gaps]
    assert not [gap for gap in gaps if "of no known form" in gap or "no JSON" in gap]
