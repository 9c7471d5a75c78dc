"""An agent that does what the model says: tools over HTTP, one on the disk, one that is a process.

Reads what it is to do from the file it is given, and writes its own transcript beside it.
"""

import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

plan = json.loads(Path(sys.argv[1]).read_text())
messages = [{"role": "system", "content": plan["system"]}] if plan["system"] else []
users = list(plan["users"])


def send(url, document=None, seconds=30):
    body = None if document is None else json.dumps(document).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-made-up-0123456789"}
    asked = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(asked, timeout=seconds) as answer:
        return answer.read().decode()


def use(name, arguments):
    try:
        if name == "save_file":
            Path(arguments["path"]).write_text(arguments["text"])
            return "saved"
        if name == "run_worker":
            done = subprocess.run([sys.executable, "-c", arguments["code"]], capture_output=True)
            return f"worker ended with {done.returncode}"
        host = plan["hosts"].get(name, "http://tools.test")
        if name.split("_")[0] in ("get", "find", "search", "list", "read"):
            query = urllib.parse.urlencode(arguments)
            return send(f"{host}/{name}?{query}", seconds=plan["patience"])
        return send(f"{host}/{name}", arguments, seconds=plan["patience"])
    except urllib.error.HTTPError as error:
        return f"Error: {error.code} {error.reason} {error.read().decode()}"
    except OSError as error:
        return f"Error: {getattr(error, 'reason', error)}"
    except Exception as error:
        return f"Error: {type(error).__name__} {error}"


status = "completed"
messages.append({"role": "user", "content": users.pop(0)})
for _ in range(plan["turns"]):
    try:
        asked = {"model": "gpt-4o", "messages": messages, "tools": plan["offered"]}
        if not plan["offered"]:
            del asked["tools"]
        answer = json.loads(send("http://model.test/v1/chat/completions", asked))
    except (OSError, http.client.HTTPException) as error:
        status = f"error: {error}"
        break
    message = answer["choices"][0]["message"]
    messages.append(message)
    calls = message.get("tool_calls") or []
    for call in calls:
        try:
            arguments = json.loads(call["function"]["arguments"])
            result = use(call["function"]["name"], arguments)
        except ValueError:
            result = "Error: the arguments are not JSON"
        if call["function"]["name"] not in plan["drops"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    if not calls:
        if not users:
            break
        messages.append({"role": "user", "content": users.pop(0)})
else:
    status = "max_turns"

kept = {"messages": messages, "info": {"exit_status": status}}
Path(plan["transcript"]).write_text(json.dumps(kept))
