"""Model calls side by side: each prompt holds times and ids from after the call before it."""

import asyncio
import os
import random
import uuid
from datetime import datetime

import httpx

URL = "https://api.openai.com/v1/chat/completions"


async def ask(client, text):
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": text}]}
    reply = await client.post(URL, json=body, timeout=30)
    return reply.json()["choices"][0]["message"]["content"]


async def branch(client, name):
    known = "nothing yet"
    for turn in range(4):
        said = await ask(client, f"{name} {turn}: {known}")
        known = f"{said} at {datetime.now()}, {random.random()}, {uuid.uuid4()}"
    await ask(client, f"{name} 4: {known}")
    return known


async def main():
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    async with httpx.AsyncClient(headers=headers) as client:
        names = ("one", "two", "three", "four")
        print(await asyncio.gather(*(branch(client, name) for name in names)))


asyncio.run(main())
