"""What a person reads of a rewind."""

from typing import Any

from msgspec import structs

from rerail.playback.report import Divergence
from rerail.rewind.against import Account, Against
from rerail.rewind.files import FilesAtStep
from rerail.rewind.render import lines, scores_text
from rerail.rewind.report import Checked, EditMade, HintPlace, Scored
from tests.rewind.test_report import report


def told(**fields: Any) -> list[str]:
    return [line.strip() for line in lines(report(**fields))]


def test_where_it_went_back_to_what_it_cost_and_where_it_is_kept() -> None:
    assert told()[:3] == [
        "went back to s4 of runs/a.tape and on from there; the command ended well",
        "live: 1 model call, 1 200 tokens in, 5 out",
        "kept runs/a.s4.tape, a fork at s4",
    ]
    assert "the command ended with status 3" in told(status=3)[0]


def test_why_this_step_and_what_the_check_said() -> None:
    said = told(
        chosen="the last of 5 steps with the fewest errors (2)",
        check=Checked(command="make", errors_at_step=2, errors_at_end=1),
    )
    assert said[1] == "s4 is the last of 5 steps with the fewest errors (2)"
    assert "check: 2 errors at s4, 1 error at the end" in said
    unknown = told(check=Checked(command="make", errors_at_end=0))
    assert "check: no score at s4, 0 errors at the end" in unknown


def test_what_was_changed_now_and_by_rewinds_before() -> None:
    said = told(
        hint_place=HintPlace(field="messages", after=3),
        edits=[
            EditMade(step=2, kind="hint", text="a"),
            EditMade(step=4, kind="answer", text="{}"),
            EditMade(step=4, kind="patch", text="[]"),
        ],
    )
    assert "the hint stands after 3 entries of `messages`" in said
    assert "each request: a tool's answer was changed" in said
    assert "each request: edited by a patch" in said
    assert "still in place: 1 edit of rewinds to s2" in said


def test_files_that_were_otherwise_and_those_put_in_place() -> None:
    one = FilesAtStep(differing=1, differs=["a"])
    assert "files at s4: 1 otherwise than recorded: a" in told(files_at_step=one)
    mended = FilesAtStep(differing=1, differs=["a"], put_in_place=True)
    assert "files at s4: 1 otherwise than recorded, put in place: a" in told(files_at_step=mended)
    assert not any("files at" in line for line in told(files_at_step=FilesAtStep()))


def test_a_run_that_did_not_come_there_is_told_as_a_replay() -> None:
    said = told(reached=False)
    assert said[0] == "did not come to s4: the run left its recording before"
    assert not any(line.startswith("kept") for line in said)


def test_all_scores_in_a_line_and_of_many_those_around_the_step() -> None:
    few = [Scored(step=1, why="it did not start"), Scored(step=2, errors=3), Scored(errors=4)]
    assert scores_text(few, 2) == "s1 ?, s2 3 <, end 4"
    many = [*(Scored(step=step, errors=step) for step in range(1, 31)), Scored(errors=9)]
    assert scores_text(many, 20) == (
        "s1 1, …, s17 17, s18 18, s19 19, s20 20 <, s21 21, s22 22, s23 23, …, end 9"
    )


def test_what_came_of_it_beside_the_recorded_run() -> None:
    recorded = Account(ended="status 1", turns=5, input_tokens=800, output_tokens=35, errors=2)
    rewound = Account(ended="status 0", turns=4, input_tokens=1850, output_tokens=30, errors=0)
    names = [f"~ file-{number}" for number in range(7)]
    beside = Against(recorded=recorded, rewound=rewound, differing=7, differs=names)
    said = list(lines(report(against=beside)))
    at = said.index("               recorded        rewound")
    assert said[at + 1 : at + 6] == [
        "  ended        status 1        status 0",
        "  errors       2               0",
        "  model calls  5               4, 1 of them live",
        "  tokens       800 in, 35 out  1 850 in, 30 out",
        "  files        ~ file-0, ~ file-1, ~ file-2, ~ file-3, ~ file-4, 2 more",
    ]
    bare = told(against=Against(recorded=Account(), rewound=Account(), differing=0))
    assert "ended        lost      lost" in bare
    assert "files        the same at the end" in bare
    assert not any(line.startswith(("errors", "tokens")) for line in bare)


def test_what_was_refused_and_what_would_let_it() -> None:
    def refused(path: str) -> Divergence:
        return Divergence(
            request=7, step=None, kind="different", text="", method="POST",
            url=f"https://tickets.test/{path}?token=x", answered="refused",
        )  # fmt: skip

    whole = report()
    replay = structs.replace(
        whole.replay, divergence=refused("a"), later_divergences=[refused("a"), refused("b")]
    )
    said = [line.strip() for line in lines(structs.replace(whole, replay=replay))]
    why = "since the tape has no answer to it as it was asked"
    at = said.index(f"refused: POST tickets.test/a, {why}")
    assert said[at + 1 : at + 3] == [
        f"refused: POST tickets.test/b, {why}",
        "let it reach its origin with --allow 'POST tickets.test/a'",
    ]


def test_what_to_type_next_depends_on_how_it_ended() -> None:
    well = told()
    assert well[well.index("next:") + 1 :] == [
        "rerail diff runs/a.tape runs/a.s4.tape",
        "rerail replay runs/a.s4.tape",
    ]
    again = told(ended_well=False)
    assert again[again.index("next:") + 1 :] == [
        "rerail steps runs/a.s4.tape",
        'rerail rewind runs/a.tape --to s4 --hint "…" -n 4',
        "rerail diff runs/a.tape runs/a.s4.tape",
    ]
    check = Checked(command="make test", count="error", errors_at_step=1)
    checked = told(ended_well=False, check=check)
    assert (
        "rerail rewind runs/a.s4.tape --to best --check 'make test' --count error --hint \"…\""
        in checked
    )
