"""A program for a terminal: says what it sees of it, asks for a word, waits for Ctrl-C."""

import getpass
import os
import signal
import sys
import urllib.request

print("tty", [stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])
print("size", *os.get_terminal_size())
print("foreground", os.tcgetpgrp(0) == os.getpgrp())
with urllib.request.urlopen(sys.argv[1], timeout=20) as reply:
    print("page", len(reply.read()))
resized = []
signal.signal(signal.SIGWINCH, lambda *_: resized.append(os.get_terminal_size()))
print("word", getpass.getpass("secret word: "))
print("line", input("a line: "))
print("resized", *resized[-1], flush=True)
try:
    print("waiting", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
