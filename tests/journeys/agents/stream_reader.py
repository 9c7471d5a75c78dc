"""Reads a streamed reply, and prints for each piece when it came and what it is."""

import sys
import time
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=20) as reply:
    while piece := reply.read1():
        print(time.time_ns(), piece.decode(), flush=True)
