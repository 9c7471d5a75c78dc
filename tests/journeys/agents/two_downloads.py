"""Downloads something large, then asks once more; says what became of each."""

import sys
import urllib.error
import urllib.request

base = sys.argv[1]
try:
    with urllib.request.urlopen(f"{base}/download", timeout=20) as reply:
        size = 0
        while piece := reply.read(65536):
            size += len(piece)
    print("downloaded", size)
except (OSError, ValueError) as error:
    print("broke off", type(error).__name__)
try:
    with urllib.request.urlopen(f"{base}/page", timeout=20) as reply:
        print("second", reply.status, len(reply.read()))
except urllib.error.HTTPError as error:
    print("second", error.code, error.read().decode())
except OSError as error:
    print("second", error)
