"""Downloads or uploads a lot, holding little: `large_agent.py down|up URL SIZE`."""

import hashlib
import sys
import urllib.request

from noise import noise

way, url, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
if way == "down":
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=60) as reply:
        while piece := reply.read(1 << 20):
            digest.update(piece)
    print(digest.hexdigest())
else:
    request = urllib.request.Request(url, data=noise(size), headers={"Content-Length": str(size)})
    with urllib.request.urlopen(request, timeout=60) as reply:
        print(reply.read().decode())
