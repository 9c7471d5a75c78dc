"""Starts a server of its own on loopback, asks it past any proxy, and fetches one page."""

import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served")

    def log_message(self, *_):
        pass


with HTTPServer(("127.0.0.1", 0), Handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    print(direct.open(f"http://127.0.0.1:{server.server_port}/", timeout=20).read().decode())
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
    server.shutdown()
