"""A tape grows with what is new, not with what is repeated."""

from pathlib import Path

from rerail.tape.reader import Tape
from rerail.tape.seal import verify
from rerail.testing.made_up_agent import limit, record_made_up_agent, turns


def test_fifty_turns_take_little_more_than_what_is_new_in_them(tmp_path: Path) -> None:
    conversation = list(turns())
    size = record_made_up_agent(conversation, tmp_path / "x.tape")
    assert size < 2 * limit(conversation)  # 3 times is promised, 1.8 is reached
    with Tape.open(tmp_path / "x.tape") as tape:
        assert verify(tape).intact
        assert tape.last_seq == 154
        bodies = set(tape.evidence.digests())
        contents = {tape.blob(digest) for digest in bodies}
    assert contents == {turn.request_body for turn in conversation} | {
        b"".join(data for data, _ in turn.reply) for turn in conversation
    }


def test_a_tape_of_one_exchange_is_small(tmp_path: Path) -> None:
    [turn] = turns(1)
    size = record_made_up_agent([turn], tmp_path / "x.tape")
    assert size < limit([turn]) + 8000
