"""A process that goes on answering the kernel when the one that began has ended.

The kernel refuses calls that nobody is left to look at (ENOSYS), so whoever outlives a recording or
a replay needs somebody who does. Loads little: every recording loads it.
"""

import gc
import os
import select
import signal
import warnings
from collections.abc import Callable
from typing import Final

_NO_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def stay_behind(asks: int, serve: Callable[[], object]) -> None:
    """Leave a process that runs `serve`, which ends when nobody asks at `asks` any more."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Python 3.12 warns of threads. The child runs what is loaded, and holds nothing of ours.
        pid = os.fork()
    if pid == 0:
        try:
            _let_go_of_everything_but(asks)
            serve()
        finally:
            os._exit(0)


def answer_all(asks: int, answer_one: Callable[[], object]) -> None:
    """Answer until the last process under the filter is gone.

    Whatever goes wrong with one call, the others must not wait for ever.
    """
    waiting = select.poll()
    waiting.register(asks, select.POLLIN)
    while all(event & select.POLLIN for _, event in waiting.poll()):
        try:
            answer_one()
        except Exception:  # noqa: S112 - mostly the caller is gone, and its call with it
            continue


def _let_go_of_everything_but(kept: int) -> None:
    """Of a terminal, of pipes that a reader waits at, of ports."""
    gc.disable()
    os.setsid()
    for number in _NO_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - no path is needed
        if int(name) != kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listed them
