"""Conversations with the websockets library: deflated or not, pings, a close code of the origin."""

import asyncio
import sys

import websockets
from told import told

base = sys.argv[1]


async def talk(compression):
    async with websockets.connect(base + "/talk", compression=compression) as socket:
        for message in (await socket.recv(), await socket.recv()):
            told("greeting", message.encode() if isinstance(message, str) else message)
        await socket.send("hello " * 300)
        told("echo", (await socket.recv()).encode())
        await socket.send(bytes(range(256)) * 20)
        told("echo", await socket.recv())
        await socket.send(part async for part in parts())
        told("echo", (await socket.recv()).encode())
        await (await socket.ping(b"still there"))
        extensions = [extension.name for extension in socket.protocol.extensions]
        print("compressed" if extensions else "plain")


async def parts():
    for word in ("one ", "two ", "three"):
        yield word


async def goodbye():
    async with websockets.connect(base + "/goodbye") as socket:
        await socket.send("one message")
        print(await socket.recv())
        try:
            await socket.recv()
        except websockets.ConnectionClosed as closed:
            print("closed", closed.rcvd.code, closed.rcvd.reason)


asyncio.run(talk("deflate"))
asyncio.run(talk(None))
asyncio.run(goodbye())
