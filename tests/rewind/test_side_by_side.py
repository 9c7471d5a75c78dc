"""Forks beside each other: each in a process of its own, what it reports, what it says."""

import os
import sys
from pathlib import Path

from rerail.rewind.report import to_json
from rerail.rewind.side_by_side import Fork, fork_side_by_side
from tests.rewind.test_report import report


def test_reports_come_back_in_their_order_and_words_are_kept(tmp_path: Path) -> None:
    whole = tmp_path / "report.json"
    whole.write_bytes(to_json(report()))
    forks = [Fork(tmp_path / f"{number}.tape") for number in range(3)]

    def words(fork: Fork) -> list[str]:
        say = f"import sys; print('words of', {fork.tape.name!r}, file=sys.stderr)"
        return [sys.executable, "-c", f"{say}; print(open({str(whole)!r}).read())"]

    told: list[tuple[int, int]] = []
    found = fork_side_by_side(
        forks, words, dict(os.environ), jobs=2, told=lambda done, all_: told.append((done, all_))
    )
    assert [one.fork for one in found] == forks
    assert [one.report and to_json(one.report) for one in found] == [to_json(report())] * 3
    assert [fork.log.read_text() for fork in forks] == [f"words of {n}.tape\n" for n in range(3)]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_fork_that_was_not_made_says_why(tmp_path: Path) -> None:
    lines = "rerail: no room\nhint: make some"
    program = {"0.tape": f"import sys; sys.exit({lines!r})", "1.tape": "import os; os._exit(7)"}

    def words(fork: Fork) -> list[str]:
        return [sys.executable, "-c", program[fork.tape.name]]

    forks = [Fork(tmp_path / name) for name in program]
    found = fork_side_by_side(forks, words, dict(os.environ))
    assert [one.report for one in found] == [None, None]
    assert [one.failed for one in found] == ["no room", "it ended with status 7"]
