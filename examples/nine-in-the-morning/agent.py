"""An agent that changes the shop's settings: four tools, OpenAI's chat completions, no SDK.

Nothing in it knows that it is recorded.
"""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

BELIEVE = True  # that the work is done, because the model says so

SYSTEM = "You change the settings of a shop. Use the tools, and run the check before you are done."
SHOP = Path("shop")


def list_files():
    return "\n".join(sorted(path.name for path in SHOP.glob("*.ini")))


def read_file(path):
    return (SHOP / path).read_text()


def write_file(path, text):
    (SHOP / path).write_text(text)
    return f"{path} is written"


def run_check():
    check = [sys.executable, "check.py"]
    return subprocess.run(check, capture_output=True, text=True, check=False).stdout


TOOLS = {
    "list_files": (list_files, {}),
    "read_file": (read_file, {"path": {"type": "string"}}),
    "write_file": (write_file, {"path": {"type": "string"}, "text": {"type": "string"}}),
    "run_check": (run_check, {}),
}


def ask(messages):
    """One model call; returns the assistant's message."""
    tools = [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": wants}},
        }
        for name, (_, wants) in TOOLS.items()
    ]
    body = {"model": "gpt-4.1-mini", "messages": messages, "tools": tools}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {
            "authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["choices"][0]["message"]


def main(task):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    for _ in range(12):
        message = ask(messages)
        messages.append(message)
        calls = message.get("tool_calls") or []
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = TOOLS[name][0](**arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if not calls:
            print(message["content"])
            if BELIEVE or run_check() == "0 errors\n":
                return
            sys.exit("agent.py: the model says that it is done, and the check says that it is not")
    sys.exit("agent.py: twelve turns, and not done")


if __name__ == "__main__":
    main(sys.argv[1])
