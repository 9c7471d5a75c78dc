"""The names of forks made side by side."""

from pathlib import Path

import pytest

from rerail.cli.rewind_forks import tapes_for
from rerail.errors import TapeWriteFailed


def test_they_are_numbered_from_one_and_pass_over_what_is_there(tmp_path: Path) -> None:
    stem = tmp_path / "run.s3.tape"
    names = [tape.name for tape in tapes_for(stem, 2, overwrite=False)]
    assert names == ["run.s3-1.tape", "run.s3-2.tape"]
    (tmp_path / "run.s3-2.tape").touch()
    (tmp_path / "run.s3-3.log").touch()
    names = [tape.name for tape in tapes_for(stem, 2, overwrite=False)]
    assert names == ["run.s3-1.tape", "run.s3-4.tape"]


def test_there_must_be_a_folder_for_them(tmp_path: Path) -> None:
    with pytest.raises(TapeWriteFailed, match="the folder is not there"):
        tapes_for(tmp_path / "nowhere" / "x.tape", 2, overwrite=False)
