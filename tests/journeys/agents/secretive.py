"""An agent with a secret in every place that has one; it puts none into a body.

`secretive.py BASE SECRETS --api-key KEY`: SECRETS is a JSON file of name and value.
"""

import json
import os
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import openai
import requests

base = sys.argv[1]
secret = json.loads(Path(sys.argv[2]).read_text())
given = sys.argv[sys.argv.index("--api-key") + 1]
host = urlsplit(base).hostname


def ask(path, **more):
    reply = requests.get(base + path, timeout=20, **more)
    print(path.partition("?")[0], reply.status_code, len(reply.content))
    return reply


ask("/page", headers={"Authorization": f"Bearer {secret['bearer']}"})
ask("/page", headers={"x-api-key": secret["x-api-key"], "X-Goog-Api-Key": secret["x-api-key"]})
ask(f"/page?q=1&key={quote(secret['query'], safe='')}&access_token={secret['plain-query']}")
ask("/page", auth=("user", secret["basic"]))
requests.get(f"https://user:{quote(secret['basic'], safe='')}@{host}/page", timeout=20)
ask("/page", cookies={"session": secret["cookie"]})
ask("/page", headers={"X-My-Own": os.environ["NIGHT_API_KEY"]})
ask("/page", headers={"X-Api-Key": given})
ask("/signed-in", allow_redirects=False)
with openai.OpenAI() as client:
    asked = [{"role": "user", "content": "hello"}]
    client.chat.completions.create(model="gpt-4.1-mini", messages=asked)
try:
    requests.get(f"https://gone.example.com/?token={secret['plain-query']}", timeout=20)
except requests.ConnectionError:
    print("gone")
