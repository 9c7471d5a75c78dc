"""Asks what cannot be had, with several clients; prints how each of them fails.

`failing_agent.py URL…`; ORIGINS maps host names to addresses where there is no proxy to do it.
"""

import json
import os
import re
import socket
import sys
import urllib.request

import httpx
import openai
import requests

origins = json.loads(os.environ.get("ORIGINS", "{}"))
look_up = socket.getaddrinfo


def found(host, port, *more, **other):
    name = host.decode() if isinstance(host, bytes) else host
    if name in origins:
        host, port = origins[name]
    return look_up(host, port, *more, **other)


socket.getaddrinfo = found


def with_httpx(url):
    return httpx.get(url, timeout=20).status_code


def with_requests(url):
    return requests.get(url, timeout=20).status_code


def with_urllib(url):
    with urllib.request.urlopen(url, timeout=20) as reply:
        reply.read()
        return reply.status


def with_openai(url):
    with openai.OpenAI(base_url=url, max_retries=0) as client:
        asked = [{"role": "user", "content": "hello"}]
        stream = client.chat.completions.create(model="any", messages=asked, stream=True)
        return len(list(stream))


def reason(error):
    """What the error, or one behind it, says of a certificate."""
    said = ""
    while error is not None and not said:
        found = re.search(r"certificate verify failed: (.*?) \(_ssl", str(error))
        said = f" ({found[1]})" if found else ""
        error = error.__cause__ or error.__context__
    return said


for url in sys.argv[1:]:
    for client in (with_httpx, with_requests, with_urllib, with_openai):
        try:
            said = client(url)
        except Exception as error:
            said = type(error).__name__ + reason(error)
        print(f"{url} {client.__name__.removeprefix('with_')}: {said}", flush=True)
