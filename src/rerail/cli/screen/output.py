"""Standard output for a verb's own words, where the command that it runs writes there too."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def output_kept(wanted: bool) -> Iterator[int]:
    """Keep standard output for ourselves: what the command writes there goes to standard error.

    Gives a descriptor to write to; where it is not `wanted`, standard output as it is.
    """
    if not wanted:
        yield 1
        return
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        yield ours
    finally:
        os.dup2(ours, 1)
        os.close(ours)
