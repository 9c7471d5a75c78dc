"""What a checker prints is taken down as it is, or it is said why it cannot be read."""

import json

import pytest

from rerail.launch.errand import Errand
from rerail.task.checker import read_report

REF = "sha256:" + "0a" * 32
GOOD = {"results": [{"name": "a", "outcome": "passed"}]}


def printed(document: object) -> Errand:
    return Errand(0, output=json.dumps(document).encode())


def test_a_report_is_read() -> None:
    baseline = {"name": "b", "version": 12, "digest": REF}
    report, problem = read_report(printed(GOOD | {"proposal": REF, "baseline": baseline}))
    assert problem == ""
    assert report is not None
    assert report.baseline is not None
    assert report.baseline.version == 12
    assert [case.name for case in report.results] == ["a"]


def test_what_more_it_says_is_passed_over() -> None:
    report, _ = read_report(printed(GOOD | {"took": "3 s"}))
    assert report is not None


PROBLEMS = [
    (Errand(0, output=b"all good!"), "no report"),
    (Errand(0), "no report"),
    (Errand(0, output=b"\xff"), "no report"),
    (printed([]), "no report"),
    (printed({}), "results"),
    (printed({"results": [{"name": "a"}]}), "outcome"),
    (printed({"results": [{"name": "a", "outcome": "maybe"}]}), "the case `a` has the outcome"),
    (printed(GOOD | {"proposal": "sha256:12"}), "is no digest"),
    (Errand(0, output=json.dumps(GOOD).encode(), cut=True), "more than is kept"),
    (Errand(137, 9, True, json.dumps(GOOD).encode()), "timed out"),
]


@pytest.mark.parametrize(("done", "said"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_what_cannot_be_read_is_said(done: Errand, said: str) -> None:
    report, problem = read_report(done)
    assert report is None
    assert said in problem
