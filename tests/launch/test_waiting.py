"""Waiting for a command in an event loop."""

import asyncio
import os
import signal
import threading
from pathlib import Path

from rerail.launch.child import Ending, start
from rerail.launch.waiting import end_of


def signal_this_thread() -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


def test_a_signal_that_comes_to_another_thread_is_passed_on_at_once() -> None:
    """The kernel may choose any thread; the main one, where handlers run, must not sleep on."""

    async def wait() -> Ending:
        with start(["sleep", "60"], cwd=Path.cwd(), environment=dict(os.environ)) as child:
            # By then the loop has nothing to do but to wait.
            threading.Timer(0.3, signal_this_thread).start()
            return await asyncio.wait_for(end_of(child), 10)

    assert asyncio.run(wait()) == Ending(143, 15)


def test_what_was_woken_by_signals_before_is_again_after() -> None:
    async def wait() -> None:
        with start(["true"], cwd=Path.cwd(), environment=dict(os.environ)) as child:
            await end_of(child)

    before = signal.set_wakeup_fd(-1)
    try:
        asyncio.run(wait())
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.set_wakeup_fd(before)
