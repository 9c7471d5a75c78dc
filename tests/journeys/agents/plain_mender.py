"""The same as `mender.py` on APIs of which no SDK is at hand: `plain_mender.py gemini|ollama`.

Sends its whole history each time, as these APIs want it.
"""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

URLS = {
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent",
    "ollama": "https://ollama.example.com/api/chat",
}
API = sys.argv[1]


def asked(body: dict[str, Any]) -> dict[str, Any]:
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request(URLS[API], json.dumps(body).encode(), kind)
    with urllib.request.urlopen(request) as reply:
        return dict(json.load(reply))


def with_gemini() -> str:
    contents: list[Any] = [{"role": "user", "parts": [{"text": "Write the right word."}]}]
    written = ""
    while True:
        content = asked({"contents": contents})["candidates"][0]["content"]
        contents.append(content)
        results = []
        for part in content["parts"]:
            if "functionCall" in part:
                written = part["functionCall"]["args"]["text"]
                response = {"name": "write", "response": {"result": f"wrote {written}"}}
                results.append({"functionResponse": response})
        if not results:
            return written
        contents.append({"role": "user", "parts": results})


def with_ollama() -> str:
    messages: list[Any] = [{"role": "user", "content": "Write the right word."}]
    written = ""
    while True:
        body = {"model": "m", "messages": messages, "stream": False}
        message = asked(body)["message"]
        messages.append(message)
        for call in message.get("tool_calls", ()):
            written = call["function"]["arguments"]["text"]
            told = {"role": "tool", "tool_name": "write", "content": f"wrote {written}"}
            messages.append(told)
        if not message.get("tool_calls"):
            return written


last = with_gemini() if API == "gemini" else with_ollama()
Path("word.txt").write_text(last)
print("the last word is", last, flush=True)
sys.exit(0 if last == "right" else 1)
