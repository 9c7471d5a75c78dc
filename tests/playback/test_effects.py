"""What children changed in the recorded folders, found among many snapshots."""

from pathlib import Path

import pytest

from rerail.playback.casting import RecordedChild
from rerail.playback.effects import Effects
from rerail.playback.scratch import Scratch
from rerail.tape.reader import Tape
from rerail.tape.records import ProcessEnded, ProcessStarted, WorkspaceSnapshot
from rerail.testing.tapes import Recording

CHILDREN = 30


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Each child writes its number into a file; its snapshot comes when the next one has begun."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "number").write_text("0")
    tape = Recording.begin(tmp_path / "run.tape", cwd=str(folder))
    tape.snapshot(folder, "start", folder=str(folder))
    for number in range(1, CHILDREN + 1):
        tape.event(ProcessStarted, process_id=number + 1, argv=["write"], cwd=str(folder))
        tape.event(ProcessEnded, process_id=number + 1, status=0)
        (folder / "number").write_text(str(number))
        tape.snapshot(folder, "child", folder=str(folder), process_id=number + 1)
    tape.snapshot(folder, "end", folder=str(folder))
    tape.end()
    return tape.path


def test_each_child_makes_its_own_change_again(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, moment = [], Effects._moment

    def counted(self: Effects, snapshot: WorkspaceSnapshot) -> int:
        looked.append(snapshot)
        return moment(self, snapshot)

    monkeypatch.setattr(Effects, "_moment", counted)
    with Tape.open(tape) as opened:
        started = {e.process_id: e for e in opened.events() if isinstance(e, ProcessStarted)}
        ended = {e.process_id: e for e in opened.events() if isinstance(e, ProcessEnded)}
        scratch = Scratch.make(opened, overlay=False)
        assert scratch is not None
        with scratch:
            effects = Effects(opened, scratch.copies)
            file = scratch.workspace.place / "number"
            for number, start in started.items():
                child = RecordedChild(started=start, ended=ended[number])
                assert effects.otherwise(child) == ""
                effects.make(child)
                assert file.read_text() == str(number - 1)
            file.write_text("something else")
            child = RecordedChild(started=started[9], ended=ended[9])
            assert effects.otherwise(child) == "number is otherwise than when it was recorded"
    assert len(looked) == CHILDREN + 2  # each snapshot once, however many children ask
