"""Wait for a command's end inside an event loop."""

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rerail.launch.child import Child, Ending


async def end_of(child: Child) -> Ending:
    """Wait for a command while the loop goes on."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(child.pidfd, ended.set)
    try:
        with _woken_by_signals(loop):
            await ended.wait()
    finally:
        loop.remove_reader(child.pidfd)
    return child.wait()


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have every signal wake the loop, so that its handler runs now.

    Python runs handlers in the main thread alone, and a signal does not wake it that came to
    another thread, or in the moment before the main thread began to wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        loop.add_reader(ours, ours.recv, 4096)
        try:
            yield
        finally:
            loop.remove_reader(ours)
            signal.set_wakeup_fd(before)
