"""Reads the clock and draws random values under the bench: nanoseconds a call, as JSON."""

import datetime
import json
import os
import random
import time
import uuid
from collections.abc import Callable

CALLS = 500
TURNS = 7


def nanoseconds(call: Callable[[], object]) -> float:
    """The quickest of some rounds, a call."""
    best = float("inf")
    for _ in range(TURNS):
        begun = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter_ns() - begun) / CALLS)
    return best


if __name__ == "__main__":
    # Each is called from its own line, so each is a place of its own to the probe.
    found = {
        "time.time": nanoseconds(lambda: time.time()),
        "datetime.now": nanoseconds(lambda: datetime.datetime.now()),
        "random.random": nanoseconds(lambda: random.random()),
        "uuid.uuid4": nanoseconds(lambda: uuid.uuid4()),
        "os.urandom": nanoseconds(lambda: os.urandom(16)),
    }
    print(json.dumps(found))
