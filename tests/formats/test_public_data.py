"""Every public recording is imported and looked at without a crash, or refused with a reason.

The folder is named by RERAIL_TRACE_DATA; without it these are skipped.
"""

import os
from pathlib import Path

import pytest

from bench.public import AIRLINE, HELD_OUT, LABELLED, LABELS, held_out, labelled_by, runs
from bench.trace import localisation, separation
from rerail.formats.file import ImportRefused
from rerail.formats.reading import import_file
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect

FOLDER = Path(os.environ.get("RERAIL_TRACE_DATA") or "nowhere")
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
KNOWN = {".traj": "swe-agent", ".eval": "inspect", ".jsonl": "claude-code", ".har": "har"}

pytestmark = pytest.mark.skipif(
    not FILES, reason="RERAIL_TRACE_DATA names no folder of public data"
)


@pytest.mark.parametrize("path", FILES or [FOLDER], ids=lambda path: path.name)
def test_a_file_is_read_or_refused(path: Path) -> None:
    try:
        imported = import_file(path)
    except ImportRefused as refused:
        assert path.suffix not in KNOWN
        assert refused.hint
        return
    by_folder = "tau2-results" if path.parent.name == "tau2" else "chat-messages"
    assert imported.format == KNOWN.get(path.suffix, by_folder)
    for finding in detect(Material(imported.stories)):
        assert finding.evidence


def test_the_labelled_failures_are_pointed_at() -> None:
    found = runs(FOLDER / LABELLED, labelled_by(FOLDER / LABELS))
    rows = dict(line.strip("| ").split(" | ") for line in localisation("", found, "retail")[4:-1])
    assert int(rows["top three places, first two tiers alone"]) >= 18


def test_failed_and_passed_runs_are_told_apart() -> None:
    found = runs(FOLDER / AIRLINE)
    row = next(line for line in separation("", found, "airline") if "any of the first" in line)
    failed, passed = row.strip("| ").split(" | ")[-2:]
    assert int(failed) >= 55
    assert int(passed) <= 8


def test_they_are_told_apart_on_tasks_that_nobody_read() -> None:
    for one in HELD_OUT:
        found = [run for run in held_out(FOLDER, one) if run.unread]
        if not found:
            pytest.skip(f"the folder does not hold {one.files}")
        bad, good = ([run for run in found if run.failed is failed] for failed in (True, False))
        shares = [sum(bool(run.blamed) for run in some) / len(some) for some in (bad, good)]
        assert shares[0] > 2 * shares[1], one.title
