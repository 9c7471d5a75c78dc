"""A process that goes on answering the kernel when the one that began has ended, or was killed.

The kernel refuses calls that nobody is left to look at (ENOSYS), so whoever outlives a recording or
a replay needs somebody who does. Loads little: every recording loads it.
"""

import gc
import os
import select
import signal
import warnings
from collections.abc import Callable, Collection
from typing import Final

_NO_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def stay_behind(asks: int, serve: Callable[[], object]) -> int:
    """Leave a process that runs `serve`, which ends when nobody asks at `asks` any more.

    Gives its pid.
    """
    return _leave(serve, asks)


def stand_by(asks: int, serve: Callable[[], object]) -> tuple[int, int]:
    """The same beforehand: it begins to serve when this process has ended, in whatever way.

    Gives its pid, and a descriptor that says that this process is there: it is not to be closed.
    """
    present, held = os.pipe()
    try:
        pid = _leave(lambda: _is_over(asks, present) or serve(), asks, present)
    finally:
        os.close(present)
    return pid, held


def _is_over(asks: int, present: int) -> bool:
    """Wait for the first process's end; whether nobody can ask any more by then, or before."""
    waiting = select.poll()
    waiting.register(present, select.POLLIN)
    waiting.register(asks, 0)  # only that nobody is left, which is always told
    return asks in dict(waiting.poll())


def _leave(serve: Callable[[], object], *kept: int) -> int:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Python 3.12 warns of threads. The child runs what is loaded, and holds nothing of ours.
        pid = os.fork()
    if pid == 0:
        try:
            _let_go_of_everything_but(kept)
            serve()
        finally:
            os._exit(0)
    return pid


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


def _let_go_of_everything_but(kept: Collection[int]) -> None:
    """Of a terminal, of pipes that a reader waits at, of ports."""
    gc.disable()
    os.setsid()
    for number in _NO_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - no path is needed
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listed them
