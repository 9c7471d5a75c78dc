"""The page of detectors lists those that there are, and the faults that were made."""

import re
from collections import Counter
from pathlib import Path

from rerail.trace.detect.detectors import detectors
from tests.journeys.detected.faults import FAULTS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "detectors.md").read_text("utf-8")


def test_every_detector_is_on_the_page_as_it_is() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+) \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
    known = [(one.name, one.category, one.tier, one.reads) for one in detectors()]
    assert sorted(rows) == sorted(known)


def test_the_faults_that_were_made_are_counted() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    made = Counter(fault.category for fault in FAULTS)
    assert {category: int(count) for category, count, _ in rows} == dict(made)
    assert all(count == found for _, count, found in rows)
    assert f"In\nthese {len(FAULTS)} runs" in PAGE
