"""A finding: what a detector or a check noticed, with its evidence. An interpretation, no fact.

Knows no detector.
"""

from dataclasses import dataclass
from typing import Literal

Category = Literal["task", "agent", "tool", "check", "boundary", "target", "runtime"]
"""Whose assumption broke."""

Tier = Literal["structure", "linkage", "context"]
"""How much a finding says.

`structure`: a fact of form (a call with no result, a reply cut short). `linkage`: two records that
do not fit each other. `context`: shown beside the others, and never blamed.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place that can be opened: `source` names a source of the case, `ref` a place in it.

    In a tape a ref is what `rerail show` takes (`e12`, `r3`, `s4`); in an imported file it is
    `line 7`, or `message 7` where the file is one document. `says` quotes it, shortened.
    """

    source: str
    ref: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was noticed, in one sentence, and the records that show it.

    `order` is where in the run it stands (the number of an event or of a message in its source):
    findings are listed by it. `contradicts` quotes the stated input that a finding of the first two
    tiers is at odds with, else empty: only such a finding can be a first broken assumption.
    `missing` marks a record that is not there: it never blames anybody.
    """

    detector: str
    category: Category
    tier: Tier
    what: str
    evidence: tuple[Evidence, ...]
    order: int
    contradicts: str = ""
    missing: bool = False
