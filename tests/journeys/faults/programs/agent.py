"""The agent of the fault lab: asks a model for settings and writes them, or misbehaves as told."""

import fcntl
import json
import os
import subprocess
import sys
import termios
import time
import urllib.request
from pathlib import Path

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"


def main() -> int:
    """Do the task as HOW says."""
    if HOW == "nothing":
        return 0
    if HOW == "spy":
        Path("found.json").write_text(json.dumps({place: look(place) for place in sys.argv[2:]}))
    for _ in range(int(sys.argv[2]) if HOW == "turns" else 1):
        answer = ask()
    Path("retry.json").write_text(answer)
    if HOW == "links":
        Path("retry.json").unlink()
        Path("retry.json").symlink_to(sys.argv[2])
    if HOW == "fills":
        for number in range(8):
            Path(f"large-{number}").write_bytes(os.urandom(400_000))
    print("wrote", flush=True)
    if HOW == "types":
        Path("typed.json").write_text(json.dumps([types(place) for place in sys.argv[2:]]))
    if HOW == "sleep":
        time.sleep(60)
    if HOW == "killed":
        os.kill(os.getpid(), 9)
    if HOW == "linger":
        late = "import time, pathlib\nwhile True: pathlib.Path('late').touch(); time.sleep(0.01)"
        subprocess.Popen([sys.executable, "-c", late], start_new_session=True)
    return 3 if HOW == "fails" else 0


def look(place: str) -> str:
    """What can be had of a file, a variable, a process, a port."""
    kind, _, name = place.partition(":")
    try:
        if kind == "env":
            return os.environ.get(name, "")
        if kind == "kill":
            os.kill(int(name), 0)
            return "could signal it"
        if kind == "write":
            Path(name).write_text("x")
            return "could write it"
        return Path(name).read_text(errors="replace")
    except OSError as error:
        return f"refused: {type(error).__name__}"


def types(place: str) -> str:
    """Grant our own proposal: put an answer into a terminal's input (ioctl_tty(2), TIOCSTI)."""
    try:
        terminal = int(place) if place.isdigit() else os.open(place, os.O_RDWR)
        for key in b"y\n":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([key]))
    except OSError as error:
        return f"refused: {type(error).__name__}"
    return "typed it"


def ask() -> str:
    """One chat completion."""
    task = json.loads(Path(os.environ["RERAIL_TASK_FILE"]).read_bytes())
    given = sorted(Path(os.environ["RERAIL_INPUTS"]).iterdir())
    told = "\n".join(path.read_text() for path in given)
    prompt = f"{task['objective']}\n{told}\n{Path('retry.json').read_text()}"
    body = {"model": "lab-1", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(
        f"{os.environ['MODEL_URL']}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer simulated"},
    )
    with urllib.request.urlopen(request) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


if __name__ == "__main__":
    sys.exit(main())
