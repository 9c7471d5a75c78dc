"""Pages, a stream, an upload, a WebSocket and four at once, with aiohttp as it is by default."""

import asyncio
import sys

import aiohttp
from told import sizes, told

base = sys.argv[1]


async def get(session, path):
    async with session.get(base + path) as reply:
        return await reply.read()


async def main():
    async with aiohttp.ClientSession() as session:
        for path in ("/page", "/moved", "/large", "/gzip", "/deflate", "/empty"):
            told(path, await get(session, path))
        async with session.post(base + "/upload", json={"a": 1}) as reply:
            told("/upload", await reply.read())
        async with session.get(base + "/stream") as reply:
            # An empty piece tells only that the end of the body came by itself.
            pieces = [piece async for piece, _ in reply.content.iter_chunks() if piece]
        told("/stream", b"".join(pieces), sizes(pieces))
        for n, body in enumerate(
            await asyncio.gather(*(get(session, f"/page?n={n}") for n in range(4)))
        ):
            told(f"/page?n={n}", body)
        async with session.ws_connect(base + "/talk") as talk:
            await talk.send_str("hello")
            for _ in range(3):
                said = (await talk.receive()).data
                told("/talk", said.encode() if isinstance(said, str) else said)


asyncio.run(main())
