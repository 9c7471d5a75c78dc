"""Three turns of an agent that makes up its identifiers in every run and says where it stands.

`anew.py ORIGIN ANALYTICS COUNT`: COUNT reports go to the analytics. It ends with 3 where a reply
does not know it. Nothing but the standard library.
"""

import json
import os
import secrets
import sys
import time
import urllib.request
import uuid
from pathlib import Path

origin, analytics, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
session = str(uuid.uuid4())
messages = [
    {
        "role": "system",
        "content": f"Session {session}. Work in {Path.cwd()}, home is {os.environ['HOME']}. "
        f"Today is {time.strftime('%A, %B')} {time.localtime().tm_mday}, {time.strftime('%Y')}.",
    }
]


def post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)


for turn in range(3):
    for number in range(count):
        post(analytics + "/batch/", {"at": time.time(), "id": secrets.token_hex(8), "n": number})
    call = f"read_file-{time.time_ns() // 10**6}-{turn}"
    messages.append({"role": "user", "id": f"msg_{uuid.uuid4()}", "content": f"turn {turn}"})
    reply = post(
        origin + "/v1/chat/completions",
        {"model": "m", "user": session, "call": call, "messages": messages},
    )
    if reply["user"] != session or reply["call"] != call:
        print(f"{reply['user']} is not {session}, or {reply['call']} is not {call}")
        raise SystemExit(3)
    messages.append({"role": "assistant", "id": reply["id"], "content": reply["said"]})
    print(reply["said"])
