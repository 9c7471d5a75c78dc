"""Tries every way out of a sandbox that a program has, and prints what became of each.

`trapped.py PORT UNIX URL`: a TCP port of this machine and the path of a unix socket, both listened
on, and a page that is on the tape.
"""

import socket
import subprocess
import sys
import urllib.request

port, path = int(sys.argv[1]), sys.argv[2]


def tcp(address, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as way:
        way.settimeout(5)
        way.connect(address)


def udp(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect(address)
        way.send(b"out")


def unix(address):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way:
        way.connect(address)


def raw():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        pass


def curl(address):
    words = ["curl", "-sS", "--noproxy", "*", "--max-time", "2", address]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        raise OSError("curl had no answer")


WAYS = {
    "loopback": lambda: tcp(("127.0.0.1", port)),
    "loopback 6": lambda: tcp(("::1", port), socket.AF_INET6),
    "another machine": lambda: tcp(("192.0.2.1", 443)),
    "datagram": lambda: udp(("192.0.2.1", 53)),
    "name": lambda: socket.getaddrinfo("example.com", 443),
    "unix socket": lambda: unix(path),
    "abstract unix socket": lambda: unix("\0" + path),
    "raw socket": raw,
    "curl": lambda: curl(f"http://127.0.0.1:{port}/"),
}
with urllib.request.urlopen(sys.argv[3], timeout=20) as page:
    print(page.read())
for name, way in WAYS.items():
    try:
        way()
    except OSError:
        print(name, "closed")
    else:
        print(name, "open")
