"""Wait for a command's end inside an event loop."""

import asyncio

from rerail.launch.child import Child, Ending


async def end_of(child: Child) -> Ending:
    """Wait for a command while the loop goes on."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(child.pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(child.pidfd)
    return child.wait()
