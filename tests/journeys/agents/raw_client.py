"""A client with no HTTP library: sends bytes, and prints as JSON the bytes that came and their end.

`raw_client.py CASES`: a file of [name, host, port, secure, request], the request in hexadecimal.
Goes through the proxy of the environment by CONNECT, or, where there is none, to the address
that ORIGINS names for the host.
"""

import base64
import json
import os
import socket
import ssl
import sys
from pathlib import Path
from urllib.parse import urlsplit

proxy = urlsplit(os.environ.get("HTTPS_PROXY", ""))
origins = json.loads(os.environ.get("ORIGINS", "{}"))


def connect(host, port):
    if not proxy.hostname:
        return socket.create_connection(origins[host], timeout=10)
    connection = socket.create_connection((proxy.hostname, proxy.port), timeout=10)
    pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    target = f"{host}:{port}"
    head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {pair}"
    connection.sendall(head.encode() + b"\r\n\r\n")
    reply = b""
    while not reply.endswith(b"\r\n\r\n"):
        reply += connection.recv(1)
    assert b" 200 " in reply, reply
    return connection


def ask(host, port, secure, request):
    connection = connect(host, port)
    received = b""
    try:
        if secure:
            context = ssl.create_default_context()
            connection = context.wrap_socket(
                connection, server_hostname=host, suppress_ragged_eofs=False
            )
        connection.sendall(request)
        while piece := connection.recv(65536):
            received += piece
        return received, "closed"
    except ssl.SSLEOFError:
        return received, "cut"
    except ConnectionResetError:
        return received, "reset"
    finally:
        connection.close()


results = {}
for name, host, port, secure, request in json.loads(Path(sys.argv[1]).read_text()):
    received, end = ask(host, port, secure, bytes.fromhex(request))
    results[name] = [received.decode("latin-1"), end]
print(json.dumps(results, indent=1))
