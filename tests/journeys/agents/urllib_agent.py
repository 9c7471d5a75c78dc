"""Pages, a stream and an upload, with nothing but the standard library."""

import sys
import urllib.error
import urllib.request

from told import told

base = sys.argv[1]

for path in ("/page", "/moved", "/large", "/gzip", "/stream", "/empty", "/old"):
    with urllib.request.urlopen(base + path, timeout=20) as reply:
        told(path, reply.read(), reply.status)
with urllib.request.urlopen(base + "/upload", data=b"u" * 70_000, timeout=20) as reply:
    told("/upload", reply.read())
try:
    urllib.request.urlopen(base + "/nowhere", timeout=20)
except urllib.error.HTTPError as error:
    told("/nowhere", error.read(), error.code)
    error.close()
