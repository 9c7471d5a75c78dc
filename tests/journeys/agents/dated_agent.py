"""Thirty prompts, each full of what no two runs have in common: times, ids, names, a key.

`dated_agent.py [alone|fork|spawn|forkserver|threads|tasks|pool]`: one after the other, or in three
processes, threads, tasks or jobs at once.
"""

import asyncio
import json
import multiprocessing
import os
import random
import secrets
import sys
import tempfile
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path

HERE = Path(__file__).parent
URL = "https://api.openai.com/v1/chat/completions"


def prompt(turn):
    folder = tempfile.mkdtemp()
    Path(folder).rmdir()
    told = [
        f"turn {turn} at {datetime.now()}, {time.time()!r}, {date.today()}, {time.ctime()}",
        f"id {uuid.uuid4()}, nonce {random.random()!r}, key {secrets.token_hex(16)}",
        f"folder {folder}, files {os.listdir(HERE)}, set {set('abcdef')}",  # noqa: PTH208
    ]
    return "\n".join(told)


def ask(text):
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": text}]}
    headers = {"Content-Type": "application/json", "X-Request-Id": str(uuid.uuid4())}
    headers["Authorization"] = f"Bearer {os.environ['OPENAI_API_KEY']}"
    request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def ten_turns(first):
    turns(first, first + 10)


def turns(first, last):
    for turn in range(first, last):
        text = prompt(turn)
        # more is said here
        answer = ask(text)
        print(f"{text}\n-> {answer}\n", end="", flush=True)


async def tasks():
    async def some(first, last):
        for turn in range(first, last):
            await asyncio.to_thread(turns, turn, turn + 1)

    await asyncio.gather(*(some(first, first + 10) for first in STARTS))


STARTS = (0, 10, 20)
if __name__ == "__main__":
    way = sys.argv[1] if len(sys.argv) > 1 else "alone"
    if way == "alone":
        turns(0, 30)
        sys.exit()
    if way == "tasks":
        asyncio.run(tasks())
        sys.exit()
    if way in ("threads", "pool"):
        with ThreadPoolExecutor(3) if way == "threads" else multiprocessing.Pool(3) as pool:
            list(pool.map(ten_turns, STARTS))
        sys.exit()
    context = multiprocessing.get_context(way)
    children = [context.Process(target=turns, args=(n, n + 10)) for n in STARTS]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(max(child.exitcode for child in children))
