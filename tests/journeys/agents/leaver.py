"""Asks a model, and goes away after the last event of its stream; with `stays`, reads to the end.

`leaver.py ORIGIN leaves|stays`: two turns, with nothing but the standard library.
"""

import json
import sys
import urllib.request

origin, manner = sys.argv[1:]

for turn in range(2):
    asked = json.dumps({"stream": True, "messages": [{"role": "user", "content": f"{turn}"}]})
    request = urllib.request.Request(
        origin + "/v1/chat/completions", asked.encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        heard = b""
        while b"[DONE]\n\n" not in heard:
            heard += reply.read1()
        if manner == "stays":
            heard += reply.read()
    print(heard.decode())
