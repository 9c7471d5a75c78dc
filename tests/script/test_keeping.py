"""A script's tape while it is written: what stands on it, whose it is, and how it is taken up."""

from pathlib import Path
from typing import Any

import pytest

from rerail.errors import TapeBusy, TapeExists
from rerail.holds import Hold
from rerail.script.engine import Ended
from rerail.script.keeping import Keeping, own_key
from rerail.script.pause import Pause
from rerail.script.recorded import Recorded, read_script
from rerail.script.values import encoded
from rerail.tape.plane_records import HoldMet
from rerail.tape.reader import Tape
from rerail.tape.records import Body, Parent, RunEnded, RunStarted
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptEnded,
    ScriptPaused,
    ScriptPrinted,
    ScriptStarted,
)
from rerail.tape.seal import verify
from rerail.tape.witness import recorded_here

CODE = "tool('ask', to='x')"
SECRET = "sk-abcdefgh12345678"
NOTHING = Body(digest=b"", size=0)
STARTED = ScriptStarted(at=0, wall=0, name="agent.py", engine="monty 1", code=NOTHING)


def pause(number: int = 1, tool: str = "ask") -> Pause:
    return Pause(
        number=number,
        token=f"token-{number}",
        tool=tool,
        line=1,
        at=0,
        wall=0,
        call=number,
        state=NOTHING,
        arguments_digest=b"",
        _read=lambda: b"{}",
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tape"


def begun(path: Path, **fields: Any) -> Keeping:
    keeping = Keeping.create(path, code=CODE, run_id="run-1", **fields)
    keeping.started(STARTED, CODE, {"task": "mend it"})
    return keeping


def asked(keeping: Keeping, number: int = 1, state: bytes = b"a state") -> Pause:
    made = pause(number)
    keeping.paused(made, encoded({"to": "x"}, name="arguments"), state, calls=True)
    return made


def events(path: Path) -> list[Any]:
    with Tape.open(path) as tape:
        return list(tape.events())


def recorded(path: Path) -> Recorded:
    with Tape.open(path) as tape:
        return read_script(tape)


def test_a_tape_begins_as_its_users_own(path: Path) -> None:
    parent = Parent(tape_id="sha256:" + "ab" * 32, step=2, relation="fork")
    begun(path, parent=parent, facts={"arm": "rewind"}, capture={"model": "asked"}).close()
    first = events(path)[0]
    assert isinstance(first, RunStarted)
    assert (first.run_id, first.task_id, first.argv) == ("run-1", "run-1", [])
    assert (first.parent, first.facts) == (parent, {"arm": "rewind"})
    assert set(first.capture) == {"script", "clock", "random", "model"}
    assert recorded_here(own_key(), first)
    assert not recorded_here(b"another key".ljust(32), first)


def test_a_tape_that_is_there_is_replaced_only_where_it_is_asked_for(path: Path) -> None:
    begun(path).close()
    with pytest.raises(TapeExists):
        begun(path)
    begun(path, overwrite=True).close()


def test_a_run_that_is_given_no_name_has_one(path: Path) -> None:
    keeping = Keeping.create(path, code=CODE)
    keeping.close()
    first = events(path)[0]
    assert first.run_id == first.task_id == keeping.run_id
    assert keeping.run_id.startswith("run-")


def test_a_pause_is_sealed_with_its_state_and_can_be_read_once_it_is_held(path: Path) -> None:
    keeping = begun(path)
    made = asked(keeping)
    keeping.hold()
    with Tape.open(path) as tape:
        assert tape.state == "live"
        (paused,) = (event for event in tape.events() if isinstance(event, ScriptPaused))
        assert tape.blob(paused.state.digest) == b"a state"
        assert [seal.tree_size for seal in tape.seals()] == [paused.seq]
    assert (paused.token, paused.tool, paused.calls) == ("token-1", "ask", True)
    assert (made.at, made.wall) == (paused.at, paused.wall)
    assert made.state == paused.state
    keeping.close()


def test_what_is_told_stands_under_its_pause(path: Path) -> None:
    keeping = begun(path)
    made = asked(keeping)
    told = keeping.answered(made, b'"yes"', "", "tool")
    keeping.asked(1, "time.time", b"1.5")
    keeping.close()
    assert (told.name, told.value) == ("ask", b'"yes"')
    found = recorded(path)
    (again,) = found.pauses
    assert again.answer is not None
    assert again.answer.value == "yes"
    assert [told.name for told in found.told] == ["ask", "time.time"]
    assert [told.name for told in found.history] == ["ask"]  # the host says its time anew


def test_each_witness_covers_what_was_told_before(path: Path, tmp_path: Path) -> None:
    def witnessed(place: Path, answer: bytes) -> bytes:
        keeping = begun(place)
        keeping.answered(asked(keeping), answer, "", "tool")
        asked(keeping, 2)
        keeping.close()
        return next(
            e for e in events(place) if isinstance(e, ScriptPaused) and e.pause == 2
        ).witness

    same = witnessed(path, b'"yes"'), witnessed(tmp_path / "same.tape", b'"yes"')
    assert same[0] == same[1] != b""
    assert witnessed(tmp_path / "other.tape", b'"no"') != same[0]


def test_no_credential_is_kept_in_a_word_of_its_own(path: Path, tmp_path: Path) -> None:
    keeping = begun(path)
    made = asked(keeping)
    keeping.answered(made, b'"well"', f"Bearer {SECRET}", "tool")
    keeping.ended(Ended(error=f"refused: Authorization: Bearer {SECRET}"))
    keeping.close()
    told = events(path)
    answered = next(event for event in told if isinstance(event, ScriptAnswered))
    ended = next(event for event in told if isinstance(event, ScriptEnded))
    assert SECRET not in answered.raised
    assert SECRET not in ended.error
    assert ended.output is None
    assert SECRET.encode() not in path.read_bytes()


def test_what_is_printed_is_one_piece_for_each_change_of_stream(path: Path) -> None:
    keeping = begun(path)
    keeping.printed([("stdout", "a"), ("stdout", "b\n"), ("stderr", "!"), ("stdout", "\ud800")])
    keeping.close()
    with Tape.open(path) as tape:
        said = [
            (event.stream, tape.blob(event.text.digest))
            for event in tape.events()
            if isinstance(event, ScriptPrinted)
        ]
    assert said == [("stdout", b"ab\n"), ("stderr", b"!"), ("stdout", b"?")]


def test_the_end_is_told_with_its_status(path: Path) -> None:
    keeping = begun(path)
    keeping.ended(Ended(output={"fixed": True}))
    keeping.run_ended(well=True)
    tape_id = keeping.close()
    with Tape.open(path) as tape:
        assert (tape.id, tape.state) == (tape_id, "finished")
        assert verify(tape).intact
        last, ended = tape.event(tape.last_seq), tape.event(tape.last_seq - 1)
        assert isinstance(last, RunEnded)
        assert isinstance(ended, ScriptEnded)
        assert ended.output is not None
        assert tape.blob(ended.output.digest) == b'{"fixed":true}'
    assert last.status == 0


def test_who_goes_on_past_a_hold_says_why(path: Path) -> None:
    keeping = begun(path)
    keeping.met([Hold("H-1", "run-0", "task-1", "look first", "somebody", 1)], "I have looked")
    keeping.close()
    (met,) = (event for event in events(path) if isinstance(event, HoldMet))
    assert (met.hold_id, met.reason, met.went_on, met.why) == (
        "H-1", "look first", True, "I have looked",
    )  # fmt: skip


class TestTakenUpAgain:
    @pytest.fixture
    def left(self, path: Path) -> Path:
        """A tape whose writer let go of it while its script waited."""
        keeping = begun(path)
        keeping.answered(asked(keeping), b'"yes"', "", "tool")
        asked(keeping, 2)
        keeping.parked(2)
        keeping.close()
        return path

    def test_it_goes_on_where_it_was_and_time_does_not_go_back(self, left: Path) -> None:
        before = events(left)
        keeping = Keeping.reopen(left, recorded(left))
        asked(keeping, 3)
        keeping.close()
        after = events(left)
        assert after[: len(before)] == before
        assert [event.seq for event in after] == list(range(1, len(before) + 2))
        assert after[-1].at >= before[-1].at
        with Tape.open(left) as tape:
            assert verify(tape).intact

    def test_what_was_told_before_counts_for_the_next_witness(
        self, left: Path, tmp_path: Path
    ) -> None:
        keeping = Keeping.reopen(left, recorded(left))
        asked(keeping, 3)
        keeping.close()
        whole = begun(tmp_path / "whole.tape")
        whole.answered(asked(whole), b'"yes"', "", "tool")
        for number in (2, 3):
            asked(whole, number)
        whole.close()
        taken_up, at_once = (events(place)[-1] for place in (left, whole.path))
        assert taken_up.witness == at_once.witness != b""

    def test_not_by_two(self, left: Path) -> None:
        found = recorded(left)
        keeping = Keeping.reopen(left, found)
        with pytest.raises(TapeBusy):
            Keeping.reopen(left, found)
        keeping.close()

    def test_not_where_somebody_wrote_on_since_it_was_read(self, left: Path) -> None:
        found = recorded(left)
        keeping = Keeping.reopen(left, found)
        asked(keeping, 3)
        keeping.parked(3)
        keeping.close()
        with pytest.raises(TapeBusy):
            Keeping.reopen(left, found)
        assert len(recorded(left).pauses) == 3
