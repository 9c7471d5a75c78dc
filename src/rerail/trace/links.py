"""The six link checks: do the records of a run belong together? Starts nothing, judges no agent.

Each holds, is broken, or cannot be checked, and says why.
A broken link is a defect of the trace or of the orchestration: what the agent thought is not looked
at before it is mended.
"""

from collections.abc import Sequence
from typing import Final

from rerail.trace.gathered import Gathered
from rerail.trace.link import Check, Link
from rerail.trace.links_of_actions import approval_link, cleanup_link, reply_link
from rerail.trace.links_of_checks import baseline_link, proposal_link, verdict_link
from rerail.trace.story import Story


def verify_links(found: Gathered, stories: Sequence[Story] = ()) -> list[Link]:
    """All six, in their order."""
    return [check.look(check, found, stories) for check in _CHECKS]


_CHECKS: Final = (
    Check(1, "proposal-link", "Is the proposal what the checker read?", "check", proposal_link),
    Check(2, "baseline-link", "Did the checker use the baseline of the contract?", "check",
           baseline_link),
    Check(3, "reply-link", "Do tool replies belong to the requests that produced them?", "tool",
           reply_link),
    Check(4, "verdict-link", "Does the verdict follow from the recorded results?", "check",
           verdict_link),
    Check(5, "approval-link", "Does the approval name this proposal and target, once, in force?",
           "boundary", approval_link),
    Check(6, "cleanup-link", "Is cleanup of this run's own workspace?", "runtime", cleanup_link),
)  # fmt: skip
