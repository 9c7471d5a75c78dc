"""Pages, a stream, uploads and four at once, with requests."""

import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from told import sizes, told

base = sys.argv[1]

with requests.Session() as session:
    for path in ("/page", "/moved", "/large", "/gzip", "/deflate", "/empty", "/old"):
        told(path, session.get(base + path).content)
    told("/upload", session.post(base + "/upload", data=b"u" * 70_000).content)
    told("/upload", session.post(base + "/upload", data=iter([b"one", b"two"])).content)
    told("/upload", session.post(base + "/upload", data={"a": "1", "b": "ü"}).content)
    with session.get(base + "/stream", stream=True) as reply:
        pieces = list(reply.raw.stream(decode_content=False))
    told("/stream", b"".join(pieces), sizes(pieces))

with ThreadPoolExecutor(4) as pool:
    urls = [f"{base}/page?n={n}" for n in range(4)]
    for url, reply in zip(urls, pool.map(requests.get, urls), strict=True):
        told(url, reply.content)
