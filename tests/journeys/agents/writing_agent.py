"""An agent whose child writes beside its folder; its prompt holds what is there afterwards.

`writing_agent.py KIND PLACE`: `shell`, whose words name the file, or a Python whose words do not.
"""

import json
import os
import subprocess
import sys
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


kind, place = sys.argv[1:]
written = Path(place, "result.txt")
Path("program.py").write_text(f"open({str(written)!r}, 'w').write('42\\n')\n")
by_shell = ["sh", "-c", f"expr 6 '*' 7 > {written}; cat {written}"]
command = {"shell": by_shell, "its own": [sys.executable, "program.py"]}[kind]
said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
print(ask(f"{said}, {written.read_text() if written.exists() else 'and nothing more'}"))
subprocess.run(["cat", written], capture_output=True, check=True)
