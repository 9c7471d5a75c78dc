"""Thirty prompts, each with what `git status`, `ls -la` and `date` say, asked in three ways."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request

URL = "https://api.openai.com/v1/chat/completions"


def ask(text):
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": text}]}
    headers = {"Content-Type": "application/json"}
    headers["Authorization"] = f"Bearer {os.environ['OPENAI_API_KEY']}"
    request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def by_run():
    said = []
    for words in (["git", "status"], ["ls", "-la"], ["date", "+%s.%N"]):
        done = subprocess.run(words, capture_output=True, text=True)
        said.append(f"{done.returncode} {done.stdout} {done.stderr}")
    return "\n".join(said)


def by_shell():
    script = "git status 2>&1; ls -la; date +%s.%N; exit 3"
    done = subprocess.run(script, shell=True, capture_output=True, text=True)
    return f"{done.returncode} {done.stdout} {done.stderr}"


async def by_asyncio():
    async def one(*words):
        child = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
        said, _ = await child.communicate()
        return f"{child.returncode} {said.decode()}"

    words = (["git", "status"], ["ls", "-la"], ["date", "+%s.%N"])
    return "\n".join(await asyncio.gather(*(one(*each) for each in words)))


if __name__ == "__main__":
    for turn in range(int(sys.argv[1]) if len(sys.argv) > 1 else 30):
        text = (by_run, by_shell, lambda: asyncio.run(by_asyncio()))[turn % 3]()
        # more is done here
        print(f"{text}\n-> {ask(text)}", flush=True)
