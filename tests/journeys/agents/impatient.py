"""Leaves a stream in the middle, gives up on a slow reply, and goes on as if nothing was."""

import sys

import httpx

base = sys.argv[1]

with httpx.Client(base_url=base, timeout=20) as client:
    with client.stream("GET", "/endless") as reply:
        pieces = reply.iter_raw()
        print("first words", next(pieces), next(pieces))
    try:
        client.get("/silent", timeout=0.4)
    except httpx.ReadTimeout as error:
        print("gave up", type(error).__name__)
    try:
        client.get("/stalls", timeout=0.4)
    except httpx.ReadTimeout as error:
        print("gave up", type(error).__name__)
    print("then", client.get("/page").text)
