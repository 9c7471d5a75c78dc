"""A small MCP server over standard input and output: `now`, `add`, progress when asked for."""

import json
import sys
import time


def say(**fields):
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def call(params):
    if params["name"] == "add":
        return str(sum(params["arguments"].values()))
    return str(time.time_ns())


for line in sys.stdin:
    asked = json.loads(line)
    params = asked.get("params", {})
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        say(method="notifications/progress", params={"progressToken": token, "progress": 1})
    if asked["method"] == "tools/call":
        content = [{"type": "text", "text": call(params)}]
        say(id=asked["id"], result={"content": content})
    elif "id" in asked:
        say(id=asked["id"], result={"server": "small"})
