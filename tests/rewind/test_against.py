"""A fork and the run it came from, side by side."""

from rerail.rewind.against import Account, against, total
from rerail.rewind.moments import Moments
from rerail.tape.records import RunEnded
from tests.rewind.conftest import Steps


def test_the_last_files_of_both_are_compared(make_steps: Steps) -> None:
    one = make_steps({"a": "1", "b": "1"}, end={"a": "1", "b": "1", "gone": "x"})
    other = make_steps({"a": "1"}, end={"a": "2", "b": "1", "new": "x"})
    found = against(Account(), Account(), Moments.on(one), Moments.on(other))
    assert (found.differing, found.differs) == (3, ["~ a", "- gone", "+ new"])


def test_without_a_last_snapshot_nothing_is_said_of_files(make_steps: Steps) -> None:
    tape = make_steps({"a": "1"})
    none = Moments(Moments.on(tape).kept, {})
    found = against(Account(), Account(), Moments.on(tape), none)
    assert (found.differing, found.differs) == (None, [])


def test_how_a_run_ended() -> None:
    def ended(**fields: int) -> str:
        return Account.of(RunEnded(at=0, wall=0, **fields), [], None).ended

    assert ended(status=3) == "status 3"
    assert ended(status=137, signal=9) == "signal 9"
    assert Account.of(None, [], 2) == Account(errors=2)


def test_what_nobody_counted_is_not_zero() -> None:
    assert total([None, None]) is None
    assert total([1, None, 2]) == 3
