"""Leaves temporary folders and files behind, with something in them, and asks with their names."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

URL = "https://api.openai.com/v1/chat/completions"


def ask(text):
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": text}]}
    headers = {"Content-Type": "application/json"}
    headers["Authorization"] = f"Bearer {os.environ['OPENAI_API_KEY']}"
    request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


folder = tempfile.mkdtemp(prefix="left-")
before = list(Path(folder).iterdir())
Path(folder, "note.txt").write_text("something")
Path(folder, "more").mkdir()
with tempfile.NamedTemporaryFile("w", prefix="left-", delete=False) as file:
    file.write("something")
try:
    subprocess.run(["sleep", "30"], timeout=0.05)
except subprocess.TimeoutExpired as expired:
    slow = str(expired)
print(ask(f"{folder} {before} {file.name} {slow}"))
subprocess.run(["echo", "said with the command"])
sys.stdout.flush()
