"""All detectors, and the one way to let them look: what they found, in the order of the run.

Plug-ins (entry points of the group `rerail.detectors`) look too where they are asked for.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import Final

from rerail.trace.detect.detector import Material, OverEvents, OverStory, Record
from rerail.trace.detect.reading import Reading
from rerail.trace.finding import Finding
from rerail.trace.plug_ins import loaded

AnyDetector = OverStory | OverEvents

GROUP: Final = "rerail.detectors"
_MODULES: Final = (
    "unanswered_call",
    "unapproved_write",
    "altered_after_refusal",
    "announced_write",
    "approved_otherwise",
    "unspoken_choice",
    "repeated_write",
    "over_limit",
    "forbidden_state",
    "unmet_condition",
    "unused_result",
    "refused_figure",
    "wrong_sum",
    "cut_off",
    "limit_reached",
    "unreadable_arguments",
    "broken_schema",
    "reply_cut",
    "model_failed",
    "wrong_owner",
    "another_than_sought",
    "closed_door",
    "recount",
    "denied_value",
    "unavailable_choice",
    "accepted_otherwise",
    "invented_value",
    "false_success",
    "part_for_whole",
    "misplaced_value",
    "handed_over",
    "changed_mind",
    "unlisted_write",
    "hidden_error",
    "tool_timed_out",
    "broken_reply",
    "wrong_answer",
    "error_repeated",
    "machine_trouble",
    "credential_refused",
    "unknown_input",
    "open_question",
    "never_fetched",
    "checks",
    "ordinary",
    "run_end",
    "traffic",
)


def detectors(*, plugins: bool = False) -> list[AnyDetector]:
    """Every detector there is, with those of other packages if asked for. Raises PlugInBroken."""
    found: list[AnyDetector] = []
    for name in _MODULES:
        found += import_module(f"rerail.trace.detect.{name}").DETECTORS
    return [*found, *chain.from_iterable(loaded(GROUP))] if plugins else found


def detect(
    material: Material, *, using: Sequence[AnyDetector] | None = None, plugins: bool = False
) -> list[Finding]:
    """What the detectors notice, by source and by the order of the run."""
    chosen = detectors(plugins=plugins) if using is None else using
    over_stories = [detector for detector in chosen if isinstance(detector, OverStory)]
    over_events = [detector for detector in chosen if isinstance(detector, OverEvents)]
    found: list[Finding] = []
    for story in material.stories:
        reading = Reading(story)
        for detector in over_stories:
            found += detector.find(reading)
    for record in material.records:
        found += _watched(record, over_events)
    return sorted(found, key=_place)


def _watched(record: Record, chosen: Sequence[OverEvents]) -> Iterator[Finding]:
    watches = [detector.begin(record.source) for detector in chosen]
    for event in record.events():
        for watch in watches:
            yield from watch.see(event)
    for watch in watches:
        yield from watch.end()


def _place(finding: Finding) -> tuple[str, int]:
    return finding.evidence[0].source if finding.evidence else "", finding.order
