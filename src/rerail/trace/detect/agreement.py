"""Whether a yes that was given earlier still holds for a change. Judges nothing.

Who agrees to a change, and is then asked for a detail of it, need not say yes again.
"""

import re
from bisect import bisect_left
from typing import Final

from rerail.trace.detect.call import Call
from rerail.trace.detect.reading import Reading
from rerail.trace.detect.words import consents, holds, identifiers, plain

_ASKS: Final = re.compile(
    r"\b(confirm|proceed|shall i|should i|(do you|would you like|want) (me )?to)\b", re.IGNORECASE
)


def asks_for_a_yes(proposal: str) -> bool:
    """Whether a message of the model wants to hear whether it may."""
    return _ASKS.search(proposal) is not None


def agreed_before(reading: Reading, call: Call) -> bool:
    """Whether a proposal that names something of a call had a yes since the last change was made.

    A yes with an identifier in it answers a question for one.
    """
    earlier = bisect_left(reading.made, call.asked)
    since = reading.made[earlier - 1] if earlier else -1
    at = reading.talk.last("user", call.asked)
    while at is not None and at > since:
        approval = reading.talk.approval(at + 1)
        proposal = plain(approval.text.removesuffix(approval.reply))
        if (
            consents(approval.reply)
            and not identifiers(approval.reply)
            and asks_for_a_yes(proposal)
            and any(holds(proposal, plain(thing)) for thing in call.things)
        ):
            return True
        at = reading.talk.last("user", at)
    return False
