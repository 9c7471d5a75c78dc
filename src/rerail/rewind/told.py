"""What kept a check in its copy, in words for a person. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from rerail.sandbox.levels import Containment, Refused

_NAMED: Final = 3


def keeping(containment: Containment | None, refused: Sequence[Refused]) -> Iterator[str]:
    """The level, with what lacks of it, and what the check tried in vain; None: it was let free."""
    if containment is None:
        yield "the check was not contained, as was asked"
        return
    lacks = ", ".join(gap.layer.name for gap in containment.missing)
    level = "kept off the network" if containment.level == "no network" else containment.level
    yield f"the check was {level}" + (f" (missing: {lacks})" if lacks else "")
    for one in refused[:_NAMED]:
        yield f"  it was refused: {one.what} {one.target} ({one.program})"
    if len(refused) > _NAMED:
        yield f"  and {len(refused) - _NAMED} more"
    if refused:
        yield "  --uncontained lets it, if the score needs that"
