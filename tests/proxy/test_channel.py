"""The ends of a channel, on a transport that fails as sockets do."""

import asyncio

import pytest

from rerail.proxy.channel import Channel


class Gone(asyncio.Transport):
    """A connection whose peer has reset it, before the event loop has noticed."""

    def write_eof(self) -> None:
        raise OSError(107, "Transport endpoint is not connected")

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("end", ["write_end", "cut", "close"])
def test_a_peer_that_is_gone_is_no_error(end: str) -> None:
    async def meet() -> None:
        channel = Channel(lingers=True)
        channel.connection_made(Gone())
        getattr(channel, end)()

    asyncio.run(meet())
