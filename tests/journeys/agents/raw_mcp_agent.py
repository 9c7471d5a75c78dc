"""Speaks to an MCP server by hand; the ids and the progress token are of its own making."""

import json
import os
import subprocess
import sys
import uuid

server, *calls = sys.argv[1:]
base = os.getpid()
with subprocess.Popen(
    [sys.executable, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
) as child:
    for number, text in enumerate(["initialize", *calls]):
        name, _, arguments = text.partition(" ")
        params = {"name": name, "arguments": json.loads(arguments or "{}")}
        token = str(uuid.UUID(bytes=os.urandom(16)))
        if name == "now":
            params["_meta"] = {"progressToken": token}
        method = "initialize" if name == "initialize" else "tools/call"
        asked = {"jsonrpc": "2.0", "id": base + number, "method": method, "params": params}
        child.stdin.write(json.dumps(asked) + "\n")
        while True:
            said = json.loads(child.stdout.readline())
            if "id" in said:
                assert said["id"] == base + number
                print(said.get("result") or said["error"]["message"])
                break
            assert said["params"]["progressToken"] == token
            print("progress")
    child.stdin.close()
print(child.returncode)
