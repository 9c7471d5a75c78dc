"""The agent: reads its task and the policy, asks a model for the new settings, and writes them.

The model is reached over HTTP at MODEL_URL. In this example it is a simulated one (model.py).
"""

import json
import os
import urllib.request
from pathlib import Path


def main() -> None:
    """Ask once, write once."""
    task = json.loads(Path(os.environ["RERAIL_TASK_FILE"]).read_bytes())
    policy = (Path(os.environ["RERAIL_INPUTS"]) / "retry-policy").read_text()
    present = Path("retry.json").read_text()
    answer = ask(f"{task['objective']}\n\nThe policy:\n{policy}\n\nretry.json now:\n{present}")
    Path("retry.json").write_text(answer + "\n")
    print(f"proposed: {answer}")


def ask(prompt: str) -> str:
    """One chat completion."""
    body = {"model": "example-1", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(
        f"{os.environ['MODEL_URL']}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer simulated"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


if __name__ == "__main__":
    main()
