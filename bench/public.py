"""Public runs of agents: where they stand in the folder, and who looked at them.

Rewards, labels and reference actions are read here alone, to count with; no detector is given them.
A set that is held out was looked at by nobody while the rules were made. When its turn came, the
tasks with an even number were read, and rules mended; those with an odd number stay unread.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rerail.formats.reading import read_all
from rerail.trace.detect.detector import Material
from rerail.trace.detect.detectors import detect
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding
from rerail.trace.story import Story

AIRLINE: Final = "tau-bench-airline/gpt-4o-airline.json"
RETAIL: Final = "agentrx-tau/tau_retail/tau_dataset_full.json"
LABELLED: Final = "agentrx-tau/tau_retail/tau_dataset_failed.json"
LABELS: Final = "agentrx-tau/tau_ground_truth.json"

Document = Mapping[str, Any]
Labels = Callable[[Document, Story], frozenset[int]]


@dataclass(frozen=True)
class HeldOut:
    """A set that no rule was made on: the runs of one domain in some files of the folder."""

    title: str
    domain: str
    files: str


HELD_OUT: Final = (
    HeldOut("airline, Grok", "airline", "held-out/Grok_tau_Bench/results/tool-calling-*.json"),
    HeldOut("retail, Grok", "retail", "held-out/Grok_tau_Bench/results/tool-calling-*.json"),
    HeldOut("retail, another", "retail", "held-out/tau-bench/final_results/tool-calling-*.json"),
    HeldOut("airline, τ²", "airline", "held-out/tau2/*.json"),
)


@dataclass(frozen=True)
class Run:
    """One run: what was said, what was found, whether it failed, the messages that are labelled."""

    story: Story
    findings: Sequence[Finding]
    failed: bool
    labels: frozenset[int] = frozenset()
    unread: bool = False

    @property
    def blamed(self) -> list[Finding]:
        """The findings of the first two tiers."""
        return [finding for finding in self.findings if finding.tier != "context"]


def no_labels(document: Document, story: Story) -> frozenset[int]:
    """Nobody named a message."""
    return frozenset()


def labelled_by(path: Path) -> Labels:
    """The messages that people named as failures."""
    entries = json.loads(path.read_bytes())
    steps = {
        entry["trajectory_id"]: frozenset(one["step_number"] for one in entry["failures"])
        for entry in entries
    }
    return lambda document, story: steps[document["task_id"]]


def first_other_write(document: Document, story: Story) -> frozenset[int]:
    """The first write that is not among the reference actions: an oracle, where there is one."""
    wanted = [(one["name"], one["kwargs"]) for one in document["info"]["task"]["actions"]]
    for call in Reading(story).writes:
        if (call.name, call.call.arguments) not in wanted:
            return frozenset((story.said[call.asked].order,))
    return frozenset()


def runs(path: Path, labels: Labels = no_labels) -> list[Run]:
    """The runs of a file of results, looked at."""
    return [_looked_at(document, story, labels) for document, story in _read(path)]


def held_out(folder: Path, one: HeldOut) -> list[Run]:
    """The runs of a set that is held out; none where the folder does not hold it."""
    return [
        _looked_at(document, story, no_labels)
        for path in sorted(folder.glob(one.files))
        for document, story in _read(path)
        if one.domain in Reading(story).instructions[:40].lower()
    ]


def _looked_at(document: Document, story: Story, labels: Labels) -> Run:
    return Run(
        story,
        detect(Material((story,))),
        _reward(document) < 1,
        labels(document, story),
        unread=int(document["task_id"]) % 2 == 1,
    )


def _read(path: Path) -> Iterator[tuple[Document, Story]]:
    """Each run's document beside what was said; one in which nothing was said is passed by."""
    whole = json.loads(path.read_bytes())
    documents = whole["simulations"] if isinstance(whole, dict) else whole
    for document, story in zip(documents, read_all(path), strict=True):
        if story.said:
            yield document, story


def _reward(document: Document) -> float:
    judged = document.get("reward_info") or document
    return float(judged["reward"])
