"""Pages, a stream, an upload, then four at once, with httpx or httpx2: sync and async."""

import asyncio
import importlib
import sys

from told import sizes, told

httpx = importlib.import_module(sys.argv[1])
base = sys.argv[2]


def one_by_one():
    with httpx.Client(base_url=base, follow_redirects=True) as client:
        for path in ("/page", "/moved", "/large", "/gzip", "/deflate", "/empty", "/hinted"):
            told(path, client.get(path).content)
        told("/upload", client.post("/upload", content=b"u" * 70_000).content)
        told("/upload", client.post("/upload", json={"a": [1, 2, 3]}).content)
        told("/upload", client.post("/upload", files={"f": b"a file"}).content)
        told("/page", client.head("/page").content)
        with client.stream("GET", "/stream") as reply:
            pieces = list(reply.iter_raw())
        told("/stream", b"".join(pieces), sizes(pieces))


async def at_once():
    async with httpx.AsyncClient(base_url=base) as client:
        replies = await asyncio.gather(*(client.get(f"/page?n={n}") for n in range(4)))
        for n, reply in enumerate(replies):
            told(f"/page?n={n}", reply.content)
        async with client.stream("POST", "/stream", content=uploaded()) as reply:
            pieces = [piece async for piece in reply.aiter_raw()]
        told("/stream", b"".join(pieces), sizes(pieces))


async def uploaded():
    for n in range(3):
        yield b"piece %d" % n


one_by_one()
asyncio.run(at_once())
