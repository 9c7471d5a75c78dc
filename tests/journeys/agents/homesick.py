"""Fetches a page, then writes where it works, to its temporary folder and to its home folder.

`homesick.py HOME URL`: prints what became of each.
"""

import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

home, url = Path(sys.argv[1]), sys.argv[2]
with urllib.request.urlopen(url, timeout=20) as page:
    print(page.read())


def temporary():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("for now")


WAYS = {
    "here": lambda: Path("made-here").write_text("mine"),
    "temporary": temporary,
    "home": lambda: (home / "made-at-home").write_text("left behind"),
    "shell": lambda: subprocess.run(
        ["sh", "-c", f"echo more >> {home}/kept"], check=True, capture_output=True
    ),
}
for name, way in WAYS.items():
    try:
        way()
    except (OSError, subprocess.CalledProcessError):
        print(name, "closed")
    else:
        print(name, "open")
