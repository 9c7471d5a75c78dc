"""What the fixture promises beside the journey: what it notes, and what it needs."""

from pathlib import Path
from typing import Any

import pytest

from rerail.testing.plugin import SHOWN, ReplayedRun, replay

USES = [{"exchange": 1, "event": 5, "how": "asked", "came": [1], "left": [], "lane": "",
         "side_call": ""}]  # fmt: skip
REPORT: dict[str, Any] = {
    "verdict": {"green": True, "reasons": []},
    "ended": {"status": 0, "signal": 0},
    "recorded_end": {"status": 0},
    "uses": USES,
    "divergence": None,
}


def test_each_judgement_is_noted_as_what_it_shows() -> None:
    noted: list[tuple[str, str]] = []
    run = ReplayedRun(REPORT, "its words", "the command", lambda *it: noted.append(it))
    assert run.reproduces("s1")
    assert not run.avoids("r1")
    assert not run.avoids("r99")
    assert run.follows()
    failed = ReplayedRun({**REPORT, "recorded_end": {"status": 3}}, "", "", run.note)
    assert failed.avoids("end")
    assert noted == [
        (SHOWN, "again"), (SHOWN, "again"), (SHOWN, "nothing"), (SHOWN, "again"),
        (SHOWN, "avoided"),
    ]  # fmt: skip


def test_a_judgement_that_fails_says_what_the_replay_said() -> None:
    told: list[str] = []
    run = ReplayedRun(REPORT, "its words", "the command", tell=told.append)
    assert run.reproduces("s1")
    assert told == []
    assert repr(run.avoids("s1")) == "s1 was asked again as recorded"
    assert told == ["its words\nby: the command"]


def test_a_tape_that_cannot_be_replayed_is_no_failure_of_the_code(tmp_path: Path) -> None:
    (tmp_path / "no.tape").write_bytes(b"no tape")
    with pytest.raises(AssertionError, match="the tape could not be replayed") as caught:
        replay(tmp_path / "no.tape", ["true"], folder=tmp_path, options=[])
    assert "it is not a tape" in str(caught.value)
