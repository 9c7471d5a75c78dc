"""Scores of steps: what a check says, what counts, which step is best, what is run how often."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.errors import NotOnTape, UsageProblem, UserError
from rerail.launch.aside import Said
from rerail.launch.errand import OUTPUT_SIZE
from rerail.playback.place import Choose
from rerail.rewind.moments import END, Moments
from rerail.rewind.scores import Check, Checking, Score, Scores, score_tape
from rerail.sandbox.choose import Sandbox, choose_sandbox
from rerail.sandbox.ports import PortRules
from rerail.sandbox.view import Bind, View
from rerail.tape.reader import Tape
from rerail.testing.origin import HOLD, Origin
from tests.rewind.conftest import Steps

ENVIRONMENT = dict(os.environ)
COUNTED = Check.parse("cat errors", "^error")


def score(tape: Tape, check: Check, **how: object) -> Scores:
    given = Checking(ENVIRONMENT, trusted=True, **how)  # type: ignore[arg-type]
    return score_tape(tape, Moments.on(tape), check, given)


@pytest.mark.parametrize(
    ("check", "said", "errors"),
    [
        (Check.parse("x"), Said(0, b"error"), 0),
        (Check.parse("x"), Said(2, b""), 1),
        (COUNTED, Said(1, b"error 1\nno error\nerror 2\n"), 2),
        (COUNTED, Said(0, b"fine"), 0),
    ],
)
def test_what_a_check_says(check: Check, said: Said, errors: int) -> None:
    found = check.score(said)
    assert (found.status, found.errors, found.why) == (said.status, errors, "")


@pytest.mark.parametrize("said", [Said(2, b"out of memory"), Said(127, b"error"), Said(126, b"")])
def test_a_check_that_broke_off_has_counted_nothing(said: Said) -> None:
    found = COUNTED.score(said)
    assert found.errors is None
    assert found.why


def test_the_best_is_the_last_step_with_the_fewest_errors() -> None:
    def known(*errors: int | None) -> Scores:
        at = {step: Score(0, count) for step, count in enumerate(errors, start=1)}
        return Scores(COUNTED, {**at, END: Score(0, 0)})

    assert known(3, 1, 2, 1, 5).best == 4
    assert known(0, None, 2).best == 1
    assert known(None).best is None
    assert known().best is None


def test_each_step_is_checked_with_its_own_files(make_steps: Steps) -> None:
    one, two = "error\n", "error\nerror\n"
    tape = make_steps({"errors": two}, {"errors": one}, {"errors": two}, end={"errors": ""})
    scores = score(tape, COUNTED, jobs=2)
    assert {step: found.errors for step, found in scores.at.items()} == {1: 2, 2: 1, 3: 2, END: 0}
    assert scores.best == 2
    assert scores.at[2].output == one


def test_equal_trees_are_checked_once(make_steps: Steps, tmp_path: Path) -> None:
    tape = make_steps({"a": "1"}, {"a": "1"}, {"a": "2"}, {"a": "2"})
    told: list[tuple[int, int]] = []
    check = Check.parse(f"echo run >> {tmp_path}/ran")
    scores = score(tape, check, told=lambda done, all_: told.append((done, all_)))
    assert (tmp_path / "ran").read_text() == "run\n" * 2
    assert sorted(scores.at) == [END, 1, 2, 3, 4]
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_a_check_writes_in_a_copy_that_is_removed(make_steps: Steps, tmp_path: Path) -> None:
    tape = make_steps({"a": "1"})
    scores = score(tape, Check.parse("pwd; echo more > b; chmod 0 b"))
    place = Path(scores.at[1].output.strip())
    assert not place.exists()
    assert [entry.name for entry in Moments.on(tape).tree(1) or ()] == [".", "a"]


def test_what_was_left_out_is_there_as_it_is_now(
    make_steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = make_steps({"a": "1", ".env": "then"})
    here = tmp_path / "here"
    here.mkdir()
    (here / "a").write_text("now")
    (here / ".env").write_text("now")
    monkeypatch.chdir(here)
    assert score(tape, Check.parse("cat a .env")).at[1].output == "1now"


@pytest.fixture
def contained() -> Choose:
    """The sandbox of this machine, where it keeps a check off the network and the other files."""
    if choose_sandbox(binds=[], writable=[]).containment.level != "contained":
        pytest.skip("no sandbox here keeps a command from the network and from writing")
    return choose_sandbox


def test_a_check_is_kept_in_its_copy_which_it_sees_at_the_recorded_path(
    make_steps: Steps, tmp_path: Path, contained: Choose
) -> None:
    if not contained(binds=[Bind(tmp_path, tmp_path / "there")], writable=[]).view.binds:
        pytest.skip("nothing can be put at another path here")
    tape = make_steps({"a": "then"}, {"a": "later"})
    recorded, present = tape.run.cwd, tmp_path / "folder"
    line = f"pwd; cat a {recorded}/a; echo mine > {recorded}/a; touch {present}/new /usr/new; cat a"
    scores = score(tape, Check.parse(line), choose=contained)
    said = scores.at[1].output
    assert said.startswith(f"{recorded}\nthenthen")
    assert said.endswith("mine\n")
    assert "Read-only" in said
    assert scores.containment is not None
    assert scores.containment.level == "contained"
    assert [place.name for place in present.iterdir()] == ["a"]
    assert not Path("/usr/new").exists()


def test_a_check_reaches_no_service_and_that_is_told(
    make_steps: Steps, contained: Choose, start_origin: Callable[..., Origin]
) -> None:
    tape = make_steps({"a": ""})
    origin = start_origin([HOLD])
    reach = f"import socket; socket.create_connection(({origin.host!r}, {origin.port}), 5)"
    check = Check.parse(f'{sys.executable} -c "{reach}"')
    assert score(tape, check, choose=contained).at[1].errors == 1
    assert origin.connections == 0
    free = score(tape, check)
    assert (free.at[1].errors, free.containment) == (0, None)
    assert origin.connections == 1


def test_where_nothing_can_be_placed_a_check_is_kept_in_its_copy_all_the_same(
    make_steps: Steps,
) -> None:
    def rules(**view: Any) -> Sandbox:
        sockets = view.pop("sockets", ())
        return PortRules(View.of(**view), sockets=sockets, why_no_namespace="", unwatched="")

    if rules(writable=[]).containment.level != "contained":
        pytest.skip("no Landlock and seccomp here that could keep a command in its folder")
    tape = make_steps({"a": "then"})
    scores = score(tape, Check.parse("cat a; echo > b; touch /usr/new"), choose=rules)
    assert scores.at[1].output.startswith("then")
    assert "Permission denied" in scores.at[1].output
    assert not Path("/usr/new").exists()
    assert "write" in {one.what for one in scores.refused}


def test_checks_that_are_side_by_side_are_each_in_their_own_copy(
    make_steps: Steps, contained: Choose
) -> None:
    steps = [{"errors": "error\n" * number} for number in range(6)]
    scores = score(make_steps(*steps), COUNTED, jobs=3, choose=contained)
    assert [scores.at[step].errors for step in range(1, 7)] == list(range(6))


def test_a_check_that_is_not_done_in_its_time_is_no_score(make_steps: Steps) -> None:
    tape = make_steps({"wait": "600"}, {"wait": "0"})
    scores = score(tape, Check.parse("sleep $(cat wait)"), seconds=5)
    late = scores.at[1]
    assert (late.errors, late.timed_out, late.why) == (None, True, "not done within 5 s")
    assert scores.best == 2


def test_a_check_that_says_too_much_is_no_score(make_steps: Steps) -> None:
    tape = make_steps({"a": ""})
    check = Check.parse(f"head -c {OUTPUT_SIZE + 1} /dev/zero", "error")
    assert score(tape, check).at[1].why == "it said more than is read"


def test_a_tree_that_was_changed_meanwhile_is_not_offered(make_steps: Steps) -> None:
    tape = make_steps({"a": "1"}, inconsistent=True)
    scores = score(tape, Check.parse("true"))
    assert scores.at[1].errors is None
    assert "changed while they were read" in scores.at[1].why
    assert scores.best is None


def test_a_check_that_starts_nowhere_is_an_error_with_a_mend(make_steps: Steps) -> None:
    tape = make_steps({"a": "1"}, {"check": "exit 0"})
    with pytest.raises(UserError, match=r"does not start at any step: .*no-such-check") as raised:
        score(tape, Check.parse("no-such-check"))
    assert raised.value.hint is not None
    scores = score(tape, Check.parse("sh -c 'test -e check || exit 127'"))
    assert (scores.at[1].why, scores.at[2].errors) == ("the check did not start", 0)


def test_a_strangers_files_are_not_checked_unasked(make_steps: Steps, tmp_path: Path) -> None:
    tape = make_steps({"a": "1"})
    check = Check.parse(f"touch {tmp_path}/ran")
    with pytest.raises(UsageProblem, match="not recorded by you"):
        score_tape(tape, Moments.on(tape), check, Checking(ENVIRONMENT))
    assert not (tmp_path / "ran").exists()


def test_a_tape_without_snapshots_has_no_scores(make_steps: Steps) -> None:
    tape = make_steps({"a": "1"})
    with pytest.raises(NotOnTape, match="no snapshots"):
        score_tape(tape, Moments(Moments.on(tape).kept, {}), COUNTED, Checking(trusted=True))


@pytest.mark.parametrize(("words", "what"), [(("",), "is empty"), (("x", "("), "no regular")])
def test_what_is_no_check(words: tuple[str, ...], what: str) -> None:
    with pytest.raises(UsageProblem, match=what):
        Check.parse(*words)
