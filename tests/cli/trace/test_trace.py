"""`rerail trace`, step by step, on the document's own example."""

import json
import stat
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from rerail.testing.plane_tapes import PlaneTape, run_8894
from rerail.testing.tapes import WALL, Recording

Verb = Callable[..., Any]


def records(case: Path) -> list[str]:
    return [path.name for path in sorted(case.glob("*.json"))]


# open


def test_open_freezes_holds_and_says_the_final_state(tape: Path, rerail: Verb) -> None:
    done = rerail("trace", "open", tape, "--question", "Why STOP?", "--by", "ada", "--json")
    assert done.status == 0
    case = Path(done.json["case"])
    assert done.json["run_id"] == "RUN-8894"
    assert (done.json["runner_state"], done.json["verdict"]) == ("stopped", "STOP")
    assert done.json["live_action"] == "none on record"
    assert done.json["hold"].startswith("H-")
    assert stat.S_IMODE(tape.stat().st_mode) & 0o222 == 0
    assert stat.S_IMODE(case.stat().st_mode) == 0o700
    assert stat.S_IMODE((case / "001-opened.json").stat().st_mode) == 0o400
    opened = json.loads((case / "001-opened.json").read_text())
    assert (opened["by"], opened["body"]["question"]) == ("ada", "Why STOP?")


def test_open_places_a_hold_that_others_meet(case: Path, rerail: Verb, state: Path) -> None:
    from rerail.holds import Holds

    with Holds.open({"XDG_STATE_HOME": str(state)}) as holds:
        [hold] = holds.on(task_id="TASK-1061")
    assert (hold.run_id, hold.placed_by) == ("RUN-8894", "ada")
    assert Path(hold.case_folder) == case


def test_without_a_hold_a_retry_may_start(tape: Path, rerail: Verb, state: Path) -> None:
    rerail("trace", "open", tape, "--question", "Why?", "--no-hold", "-o", tape.parent / "C")
    assert not state.exists()


def test_open_takes_the_run_and_what_goes_on_with_it(
    tape: Path, rerail: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerail.tape import plane_records as planes

    later = PlaneTape.begin(tape.parent / "recheck.tape", run_id="RUN-8895")
    later.put(planes.TaskFollows, run_id="RUN-8894", tape_id="sha256:0", relation="recheck")
    later.check(failed=False)
    later.end()
    run_8894(tape.parent / "other.tape").rename(tape.parent / "elsewhere")
    monkeypatch.chdir(tape.parent.parent)
    done = rerail("trace", "open", "RUN-8894", "--question", "Why?", "--json")
    opened = json.loads((Path(done.json["case"]) / "001-opened.json").read_text())
    names = [Path(source["path"]).name for source in opened["body"]["sources"]]
    assert names == ["run-8894.tape", "recheck.tape"]


def test_open_refuses_what_it_cannot_freeze(
    tape: Path, rerail: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask = ("--question", "Why?")
    rerail("trace", "open", tape, "--question", " ").assert_complaint(2, "no question")
    rerail("trace", "open", "RUN-1", *ask).assert_complaint(2, "no tape of run RUN-1")
    rerail("trace", "open", "no.tape", *ask).assert_complaint(2, "cannot open tape no.tape")
    live = Recording.begin(tmp_path / "live.tape")
    live.writer.flush()
    rerail("trace", "open", live.path, *ask).assert_complaint(2, "still being recorded")
    live.end()
    assert not list(tmp_path.glob("CASE-*"))
    rerail("trace", "open", tape, *ask, "-o", tmp_path).assert_complaint(2, "is there already")


def test_an_open_that_fails_leaves_every_tape_as_it_was(tape: Path, rerail: Verb) -> None:
    from rerail.tape import plane_records as planes

    later = PlaneTape.begin(tape.parent / "recheck.tape", run_id="RUN-8895")
    later.put(planes.TaskFollows, run_id="RUN-8894", tape_id="sha256:0", relation="recheck")
    later.recording.writer.flush()
    files = [tape, *tape.parent.glob("recheck.tape*")]
    before = [path.stat().st_mode for path in files]
    done = rerail("trace", "open", tape, "--question", "Why?")
    done.assert_complaint(2, "recheck.tape is still being recorded")
    assert [path.stat().st_mode for path in files] == before
    assert not list(tape.parent.glob("CASE-*"))
    later.end()


def test_what_a_killed_recorder_left_is_kept_and_sealed(tmp_path: Path, rerail: Verb) -> None:
    made = Recording.begin(tmp_path / "made.tape")
    made.request(1)
    left = made.leave(tmp_path / "left.tape")
    made.end()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("left.tape*")}
    done = rerail("trace", "open", left, "--question", "Why?", "--json")
    case = Path(done.json["case"])
    assert done.json["runner_state"] == "lost"
    kept = {path.name: path.read_bytes() for path in (case / "originals" / "A").glob("left.tape*")}
    assert kept == before
    assert {path.name: path.read_bytes() for path in tmp_path.glob("left.tape*")} == before
    assert rerail("verify", case / "originals" / "A" / "sealed-left.tape").status == 0
    assert rerail("trace", "safety", case).lines[0] == "status: unresolved"


def test_a_folder_that_is_no_case(tmp_path: Path, rerail: Verb) -> None:
    for step in ("timeline", "verify", "diagnose", "safety", "report", "check", "collect"):
        rerail("trace", step, tmp_path).assert_complaint(2, "is no case", "trace open")


def test_a_step_that_does_not_exist(rerail: Verb) -> None:
    rerail("trace", "dignose").assert_complaint(2, "there is no step", "rerail trace diagnose")


def test_another_program_s_file_is_a_case_too_with_what_it_cannot_show(
    tmp_path: Path, rerail: Verb, state: Path
) -> None:
    said = [
        {"role": "user", "content": "Look at order W5512."},
        {"role": "assistant", "content": "It is pending."},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(said))
    done = rerail("trace", "open", tmp_path / "chat.json", "--question", "Why?", "--json")
    assert (done.status, done.json["hold"]) == (0, "")
    assert not state.exists()
    case = tmp_path / "CASE-chat"
    told = rerail("trace", "diagnose", case)
    assert told.lines[0] == "classification: unresolved"
    assert any("imported, not recorded" in line for line in told.lines)
    assert rerail("trace", "safety", case).lines[0] == "status: unresolved"
    assert rerail("trace", "timeline", case).lines[0].startswith("fact\tmessage 1\t")
    assert (tmp_path / "chat.json").stat().st_mode & 0o222
    (tmp_path / "chat.json").write_text("[]")
    assert rerail("trace", "diagnose", case).lines == told.lines
    again = rerail("trace", "collect", case, tmp_path / "chat.json")
    again.assert_complaint(2, "is source A of the case already")


# collect


def test_collect_names_what_is_missing(tmp_path: Path, rerail: Verb) -> None:
    tape = run_8894(tmp_path / "run.tape", without=["check.result"])
    rerail("trace", "open", tape, "--question", "Why?")
    done = rerail("trace", "collect", tmp_path / "CASE-RUN-8894")
    assert done.status == 1
    [missing] = [line for line in done.lines if line.startswith("missing")]
    assert "the check's results: which cases passed and which failed  [A e" in missing
    assert any(line.startswith("not called for  the approval's request") for line in done.lines)


def test_collect_joins_a_log_by_identifier_and_no_other(case: Path, rerail: Verb) -> None:
    from rerail.testing.plane_tapes import PROPOSAL

    folder = case.parent
    (folder / "map.yaml").write_text(
        "kind: {field: event}\ntime: {field: t, unit: ns}\nids: {proposal: ref}\nsays: event\n"
    )
    ref = f"sha256:{PROPOSAL.hex()}"
    line = {"event": "review.seen", "ref": ref, "t": WALL}
    (folder / "review.log").write_text(json.dumps(line) + "\nnot JSON\n")
    (folder / "other.log").write_text(json.dumps({"event": "x", "ref": "sha256:no"}) + "\n")
    mapping = ("--mapping", folder / "map.yaml")
    refused = rerail("trace", "collect", case, folder / "other.log", *mapping)
    refused.assert_complaint(2, "shares no identifier", "--word")
    assert (folder / "other.log").stat().st_mode & 0o200
    done = rerail("trace", "collect", case, folder / "review.log", *mapping)
    assert done.status == 0
    assert f"imported, not recorded, joined by proposal {ref}" in done.lines[1]
    lines = rerail("trace", "timeline", case).lines
    facts = [line for line in lines if line.startswith("fact")]
    [seen] = [line.split("\t") for line in facts if "review.seen" in line]
    assert seen[1] == "B line 1"
    kinds = [line.split("\t")[4] for line in facts]
    assert kinds.index("proposal.made") < kinds.index("review.seen")


def test_a_tape_of_another_run_is_taken_in_on_a_word_only(case: Path, rerail: Verb) -> None:
    other = Recording.begin(case.parent / "other.tape", run_id="RUN-1")
    other.end()
    rerail("trace", "collect", case, other.path).assert_complaint(2, "shares no identifier")
    done = rerail("trace", "collect", case, other.path, "--word", "it is the proxy's", "--json")
    assert done.json["joined_by"] == {"B": ["on somebody's word: it is the proxy's"]}


def test_a_collect_that_fails_leaves_every_source_as_it_was(case: Path, rerail: Verb) -> None:
    other = Recording.begin(case.parent / "other.tape", run_id="RUN-1")
    other.end()
    before = other.path.stat().st_mode
    sources = (other.path, case.parent / "none.tape")
    done = rerail("trace", "collect", case, *sources, "--word", "the proxy's")
    done.assert_complaint(2, "cannot open tape")
    assert other.path.stat().st_mode == before
    assert records(case) == ["001-opened.json"]


def test_a_source_is_taken_in_once(case: Path, rerail: Verb, tape: Path) -> None:
    rerail("trace", "collect", case, tape).assert_complaint(2, "is source A of the case already")


# timeline, verify, diagnose, safety


def test_facts_and_readings_stand_apart(case: Path, rerail: Verb) -> None:
    rerail("trace", "note", case, "the settings name 11", "--about", "e11", "--by", "ada")
    lines = rerail("trace", "timeline", case).lines
    facts = [line for line in lines if line.startswith("fact\t")]
    readings = [line for line in lines if line.startswith("reading\t")]
    assert len(facts) == 17
    assert len(facts) + len(readings) == len(lines)
    assert "reading\te11\tnote 002 by ada: the settings name 11" in readings
    assert not [line for line in facts if "instead of" in line]
    plain = rerail("trace", "timeline", case, "--facts").lines
    assert plain == facts
    as_json = rerail("trace", "timeline", case, "--json").json
    [loaded] = [line for line in as_json if line["ref"] == "e11"]
    assert loaded["kind"] == "baseline.loaded"
    assert len(loaded["readings"]) == 2


def test_verify_says_which_link_is_broken(case: Path, rerail: Verb) -> None:
    done = rerail("trace", "verify", case)
    assert done.status == 1
    told = "\n".join(done.lines)
    assert (
        "broken: the checker loaded baseline 11 instead of the required baseline 12  [A e11, A e2]"
        in told
    )
    assert "cannot be checked, because no tool reply is on record" in told


def test_diagnose_and_safety_become_records(case: Path, rerail: Verb) -> None:
    done = rerail("trace", "diagnose", case, "--by", "ada")
    assert (done.status, done.lines[0]) == (0, "classification: check")
    assert "the agent's reasoning is not read" in done.lines[1]
    safe = rerail("trace", "safety", case, "--by", "ada")
    assert (safe.status, safe.lines[0]) == (0, "status: contained")
    assert any("on this machine only" in line for line in safe.lines)
    assert records(case) == ["001-opened.json", "002-diagnosis.json", "003-safety.json"]


def test_what_opens_the_first_divergence_can_be_pasted(
    case: Path, rerail: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(case.parent.parent)
    lines = [line.split() for line in rerail("trace", "diagnose", case).lines]
    offered = [words[1:] for words in lines if words[:2] == ["rerail", "show"]]
    assert offered == [["show", "runs/run-8894.tape", "e11"], ["show", "runs/run-8894.tape", "e2"]]
    assert {rerail(*words).status for words in offered} == {0}


def test_every_place_that_is_named_opens(case: Path, rerail: Verb, tape: Path) -> None:
    document = rerail("trace", "diagnose", case, "--json").json
    for place in document["first"]["evidence"]:
        assert rerail("show", tape, place["ref"]).status == 0


def test_a_stranger_s_text_cannot_move_the_cursor(tmp_path: Path, rerail: Verb) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape", run_id="RUN\x1b[2J")
    tape.agents_plane()
    tape.check(tests="\x1b]0;title\x07")
    tape.end()
    rerail("trace", "open", tmp_path / "run.tape", "--question", "?\x1b[2J", "-o", tmp_path / "C")
    for step in ("timeline", "verify", "diagnose", "safety", "report", "collect", "check"):
        done = rerail("trace", step, tmp_path / "C")
        assert "\x1b" not in done.out + done.err, step


# report


class Page(HTMLParser):
    """The anchors and the links of a page, and every tag in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")


def test_the_report_in_three_forms_each_line_opens_its_evidence(case: Path, rerail: Verb) -> None:
    done = rerail("trace", "report", case, "--by", "ada", "--owner", "verdict-plane operator")
    document = yaml.safe_load(done.out)
    assert document["run_id"] == "RUN-8894"
    assert document["classification"]["says"].startswith("check defect")
    assert document["first_divergence"]["evidence"] == ["A e11", "A e2"]
    assert document["owner"] == {
        "says": "verdict-plane operator", "evidence": ["A e11"], "by": "ada",
    }  # fmt: skip
    assert document["status"]["says"] == "contained"
    lines = [value for value in document.values() if isinstance(value, dict) and "says" in value]
    lines += [*document["links"], *document["safety"]]
    assert len(lines) > 15
    assert all(line["evidence"] for line in lines)
    page = Page((case / "002-report.html").read_text())
    assert "script" not in page.tags
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    text = (case / "002-report.md").read_text()
    assert "baseline\\.loaded" in text or "baseline.loaded" in text
    assert "](#A-e11)" in text
    assert '<a id="A-e11"></a>' in text
    assert yaml.safe_load((case / "002-report.yaml").read_text()) == document


def test_markup_in_a_record_is_text_in_every_form(tmp_path: Path, rerail: Verb) -> None:
    evil = "<script>alert(1)</script>[x](javascript:y)```\n# h"
    tape = PlaneTape.begin(tmp_path / "run.tape", run_id="RUN-1")
    tape.agents_plane()
    tape.check(tests=evil)
    tape.end()
    rerail("trace", "open", tmp_path / "run.tape", "--question", evil, "-o", tmp_path / "C")
    rerail("trace", "report", tmp_path / "C")
    page = Page((tmp_path / "C" / "002-report.html").read_text())
    assert "script" not in page.tags
    assert not [link for link in page.links if not link.startswith("#")]
    text = (tmp_path / "C" / "002-report.md").read_text()
    assert "<script" not in text.split("## Evidence")[0]
    assert "](javascript" not in text.split("## Evidence")[0]


def test_half_a_sign_in_a_transcript_is_reported_and_read_again(
    tmp_path: Path, rerail: Verb
) -> None:
    """A language that cuts its texts anywhere leaves half of a pair of surrogates."""
    odd = tmp_path / "odd.jsonl"
    odd.write_text(
        '{"role": "user", "content": "a\\ud800b"}\n'
        '{"role": "assistant", "content": null, "error": {"message": "bad \\udc00"}}\n'
    )
    rerail("trace", "open", odd, "--question", "Why?", "-o", tmp_path / "C")
    done = rerail("trace", "report", tmp_path / "C")
    assert done.status == 0
    assert "bad \\udc00" in (tmp_path / "C" / "002-report.html").read_text()
    assert "\\udc00" in (tmp_path / "C" / "002-report.json").read_text()
    assert rerail("trace", "report", tmp_path / "C").status == 0


def test_an_uncertain_action_is_escalated_to_the_targets_owner(
    tmp_path: Path, rerail: Verb
) -> None:
    tape = PlaneTape.begin(tmp_path / "run.tape", run_id="RUN-9")
    tape.agents_plane()
    tape.check(failed=False)
    tape.approve()
    tape.act("unknown", timed_out=True, after=None)
    tape.end("unresolved")
    rerail("trace", "open", tape.recording.path, "--question", "?", "-o", tmp_path / "C")
    document = yaml.safe_load(rerail("trace", "report", tmp_path / "C").out)
    says = document["escalation"]["says"]
    assert says.startswith("ask payments on call about T-1; last confirmed state: read before as")
    assert document["status"]["says"] == "unresolved"


# review, check


def test_check_wants_a_second_person_a_test_and_the_tape(case: Path, rerail: Verb) -> None:
    rerail("trace", "diagnose", case, "--by", "ada")
    rerail("trace", "report", case, "--by", "ada")
    done = rerail("trace", "check", case, "--json")
    assert done.status == 1
    points = {point["number"]: point for point in done.json["points"]}
    assert points[1]["because"] == "not reviewed"
    assert [points[number]["standing"] for number in (2, 3, 5)] == ["holds"] * 3
    assert "no test yet" in points[4]["because"]
    assert "no test is linked" in points[6]["because"]


@pytest.mark.parametrize(
    ("body", "because"),
    [
        ("assert True", "proves that today the recorded failure is avoided"),
        ("assert False", "reproduces the failure"),
    ],
)
def test_the_linked_test_is_run_and_then_every_point_holds(
    case: Path, rerail: Verb, body: str, because: str
) -> None:
    test = case.parent / "test_guard.py"
    test.write_text(f"def test_it():\n    {body}\n")
    rerail("trace", "diagnose", case, "--by", "ada")
    rerail("trace", "review", case, "--first", "e11", "--category", "check", "--by", "grace")
    rerail("trace", "report", case, "--by", "ada")
    done = rerail("trace", "check", case, "--test", test, "--json")
    assert because in done.json["points"][3]["because"]
    assert [point["standing"] for point in done.json["points"]] == ["holds"] * 6
    assert done.status == 0
    test.write_text("def test_it():\n    pass\n")
    again = rerail("trace", "check", case)
    assert again.status == 1
    assert "is not the test that was linked" in again.err


def test_a_test_that_somebody_else_linked_is_not_run(
    case: Path, rerail: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, ran = case.parent / "test_guard.py", case.parent / "ran"
    test.write_text(f"import pathlib\npathlib.Path({str(ran)!r}).touch()\n")
    rerail("trace", "check", case, "--test", test)
    assert ran.exists()
    ran.unlink()
    monkeypatch.setenv("XDG_DATA_HOME", str(case.parent / "another user"))
    done = rerail("trace", "check", case)
    assert "was not linked by you on this machine" in done.err
    assert not ran.exists()


def test_diagnose_against_a_good_run(case: Path, rerail: Verb) -> None:
    good = run_8894(case.parent / "good.tape", checked_by="12")
    lines = rerail("trace", "diagnose", case, "--against", good).lines
    assert lines[-1] == (
        "  baseline.loaded: version is '11', '12' in the good run  [A e11, good e11]"
    )
    same = rerail("trace", "diagnose", case, "--against", case.parent / "run-8894.tape", "--json")
    assert list(same.json["against"].values()) == [[]]


def test_a_review_counts_before_the_report_and_from_another(case: Path, rerail: Verb) -> None:
    rerail("trace", "diagnose", case, "--by", "ada")
    first = ("--first", "e11", "--category", "check")
    rerail("trace", "review", case, *first, "--by", "ada").assert_complaint(2, "ada has made")
    assert rerail("trace", "review", case, *first, "--by", "grace").status == 0
    rerail("trace", "report", case, "--by", "ada")
    point = rerail("trace", "check", case, "--json").json["points"][0]
    assert (point["standing"], "grace came to A e11 too" in point["because"]) == ("holds", True)


def test_a_late_review_and_another_result_do_not_count(case: Path, rerail: Verb) -> None:
    rerail("trace", "report", case, "--by", "ada")
    late = rerail("trace", "review", case, "--first", "e11", "--category", "check", "--by", "grace")
    assert "counts for little" in late.err
    point = rerail("trace", "check", case, "--json").json["points"][0]
    assert point["standing"] == "cannot be checked"


def test_another_first_divergence_by_the_second_person(case: Path, rerail: Verb) -> None:
    rerail("trace", "diagnose", case, "--by", "ada")
    rerail("trace", "review", case, "--first", "e12", "--category", "agent", "--by", "grace")
    rerail("trace", "report", case, "--by", "ada")
    point = rerail("trace", "check", case, "--json").json["points"][0]
    assert point["because"] == "grace came to A e12, not to A e11"


def test_a_tape_that_was_exchanged_is_noticed(case: Path, rerail: Verb, tape: Path) -> None:
    rerail("trace", "report", case, "--by", "ada")
    tape.unlink()
    run_8894(tape, checked_by="12")
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "source A is not the file that was taken in"


@pytest.mark.parametrize("step", ["timeline", "verify", "diagnose", "safety", "report", "collect"])
def test_no_step_reads_another_tape_in_the_place_of_a_source(
    step: str, case: Path, rerail: Verb, tape: Path
) -> None:
    tape.unlink()
    run_8894(tape, checked_by="12")
    refused = rerail("trace", step, case)
    refused.assert_complaint(2, "source A of the case is not the file that was taken in")
    assert records(case) == ["001-opened.json"]


def test_no_check_runs_on_another_tape_either(case: Path, rerail: Verb, tape: Path) -> None:
    tape.unlink()
    run_8894(tape, checked_by="12")
    refused = rerail("run", "--recheck", case, "task.yaml")
    refused.assert_complaint(2, "source A of the case is not the file that was taken in")


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        (["x"], "Expected"),
        ([{"beside": -1}], "Expected"),
        ([{"name": "A", "path": "a", "beside": -1, "kind": "tape"}], "Expected `str`"),
        ("xyz", "Expected"),
        (7, "not iterable"),
        ([], "it names none"),
        (None, "'sources'"),
    ],
)
def test_sources_that_were_altered_are_said(
    sources: Any, problem: str, case: Path, rerail: Verb
) -> None:
    record = case / "001-opened.json"
    document = json.loads(record.read_text())
    document["body"]["sources"] = sources
    if sources is None:
        del document["body"]["sources"]
    record.chmod(0o600)
    record.write_text(json.dumps(document))
    done = rerail("trace", "timeline", case)
    done.assert_complaint(2, "record 1 of ")
    assert problem in done.err


def test_a_source_that_is_gone_is_a_point(case: Path, rerail: Verb, tape: Path) -> None:
    tape.unlink()
    done = rerail("trace", "check", case, "--json")
    assert done.status == 1
    assert done.json["points"][5]["standing"] == "broken"
    assert done.json["points"][5]["because"] == "source A is not there any more"
    rerail("trace", "diagnose", case).assert_complaint(2, "source A of the case is not there")


def rewrite(kept: Path, text: str) -> None:
    """As somebody would who wants a case to say something else."""
    kept.chmod(0o600)
    kept.write_text(text)


def test_a_log_that_was_added_to_is_noticed(case: Path, rerail: Verb) -> None:
    log, mapping = case.parent / "review.log", case.parent / "map.yaml"
    mapping.write_text("kind: {field: event}\n")
    log.write_text('{"event": "review.seen"}\n')
    rerail("trace", "collect", case, log, "--mapping", mapping, "--word", "the reviewer's")
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "it is there, and no test is linked to it"
    more = log.read_text() + '{"event": "approval.given"}\n'
    log.write_text(more)  # the reviewer's program goes on
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "it is there, and no test is linked to it"
    rewrite(case / "originals" / "B" / "review.log", more)
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "source B is not the file that was taken in"


@pytest.mark.parametrize(
    "now", [[{"role": "user", "content": "Another."}], "no conversation at all"]
)
def test_an_import_that_was_rewritten_is_noticed(tmp_path: Path, rerail: Verb, now: object) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "Look at W5512."}]))
    rerail("trace", "open", chat, "--question", "Why?")
    rewrite(tmp_path / "CASE-chat" / "originals" / "A" / "chat.json", json.dumps(now))
    points = rerail("trace", "check", tmp_path / "CASE-chat", "--json").json["points"]
    assert points[5]["because"] == "source A is not the file that was taken in"


def test_an_original_that_was_altered_is_noticed(tmp_path: Path, rerail: Verb) -> None:
    made = Recording.begin(tmp_path / "made.tape")
    made.request(1)
    left = made.leave(tmp_path / "left.tape")
    made.end()
    case = Path(rerail("trace", "open", left, "--question", "Why?", "--json").json["case"])
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "it is there, and no test is linked to it"
    original = case / "originals" / "A" / "left.tape"
    original.chmod(0o600)
    original.write_bytes(original.read_bytes() + b"more")
    points = rerail("trace", "check", case, "--json").json["points"]
    assert points[5]["because"] == "source A is not the file that was taken in"


def test_a_record_of_the_case_that_was_changed_is_noticed(case: Path, rerail: Verb) -> None:
    rerail("trace", "note", case, "one", "--by", "ada")
    opened = case / "001-opened.json"
    opened.chmod(0o600)
    opened.write_text(opened.read_text().replace("Why STOP?", "Why not?"))
    done = rerail("trace", "check", case)
    assert done.status == 1
    assert "record 1 was changed after record 2 was made" in done.out


def test_a_note_is_about_a_record_that_is_there(case: Path, rerail: Verb) -> None:
    rerail("trace", "note", case, "x", "--about", "e99").assert_complaint(2, "no event 99")
    rerail("trace", "note", case, "x", "--about", "Z:e1").assert_complaint(2, "no source Z")
    rerail("trace", "note", case, " ").assert_complaint(2, "the note is empty")
    assert records(case) == ["001-opened.json"]
