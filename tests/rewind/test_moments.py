"""The files of a step: which snapshot shows them, and what has changed since the one before."""

from pathlib import Path

from rerail.llm.calls import ModelCall
from rerail.llm.steps import Attempt, TurnAt
from rerail.rewind.moments import END, Moments
from rerail.tape.reader import Tape
from rerail.testing.tapes import Recording
from rerail.workspace.kept import Kept
from tests.rewind.conftest import Steps

CALL = ModelCall("openai.responses", "openai", "chat", "openai")


def test_each_step_has_its_snapshot_and_what_changed_before_it(make_steps: Steps) -> None:
    moments = Moments.on(make_steps({"a": "1"}, {"a": "2", "b": "1"}, end={"b": "1"}))
    changed = moments.changed()
    assert sorted(moments.at) == [END, 1, 2]
    assert [entry.name for entry in changed[1].added] == ["a"]
    assert [entry.name for entry in changed[2].added] == ["b"]
    assert "a" in [after.name for _, after in changed[2].changed]
    assert [entry.name for entry in changed[END].removed] == ["a"]
    assert moments.tree(7) is None
    assert not moments.damage


def test_an_attempt_that_failed_was_made_with_the_files_of_the_step(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    seqs = []
    for exchange, status in ((1, "500 Oh"), (2, "200 OK")):
        recording.chat(exchange)
        seqs.append(recording.snapshot(tmp_path, "step", exchange_id=exchange))
        recording.reply(exchange, [b"{}"], status=status)
    recording.end()
    with Tape.open(recording.path) as tape:
        assert Moments.on(tape).at[1].seq == seqs[0]


def test_the_turns_of_a_session_have_snapshots_of_their_own(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    seqs, turns = [], []
    for step in range(3):
        seqs.append(recording.snapshot(tmp_path, "step", exchange_id=1))
        turns.append(TurnAt(recording.at // 1_000_000 + 1, step + 1))
        recording.message(1, "agent", b"{}")
    seqs.append(recording.snapshot(tmp_path, "step", exchange_id=1))
    recording.end()
    with Tape.open(recording.path) as tape:
        moments = Moments.of(Kept(tape), {1: Attempt(1, 1, CALL, tuple(turns))})
    assert {step: snapshot.seq for step, snapshot in moments.at.items()} == {
        1: seqs[1], 2: seqs[2], 3: seqs[3]
    }  # fmt: skip


def test_what_a_rewind_put_in_place_counts_in_any_folder(tmp_path: Path) -> None:
    recording = Recording.begin(tmp_path / "run.tape")
    recording.chat(1)
    for fields in ({}, {"folder": "/also", "also": True}):
        recording.snapshot(tmp_path, "step", exchange_id=1, **fields)
    put = [
        recording.snapshot(tmp_path, "restored", exchange_id=1, **fields)
        for fields in ({}, {"folder": "/also", "also": True})
    ]
    recording.reply(1, [b"{}"])
    recording.end()
    with Tape.open(recording.path) as tape:
        kept, steps = Kept(tape), {1: Attempt(1, 1, CALL)}
        assert Moments.of(kept, steps).at[1].seq == put[0]
        assert Moments.of(kept, steps, "/also").at[1].seq == put[1]
