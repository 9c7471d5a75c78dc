"""A service that takes what tracers send, and keeps each request's body; it answers `{}`."""

import gzip
import json
import re
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """On 127.0.0.1; `bodies` are what came, by path."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(b"{}")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.bodies.append((self.path, body))
                self._answer(b"{}")

            def do_PATCH(self) -> None:
                self.do_POST()

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


def runs(bodies: Iterable[tuple[str, bytes]]) -> list[dict[str, Any]]:
    """What LangSmith's client sent in parts (`post.ID`, `patch.ID.outputs`), put together as its
    service gives runs back."""
    found: dict[str, dict[str, Any]] = {}
    for _, body in bodies:
        boundary = body.split(b"\r\n", 1)[0]
        for part in body.split(boundary):
            head, _, content = part.partition(b"\r\n\r\n")
            name = re.search(rb'name="(?:post|patch)\.([0-9a-f-]+)\.?(\w*)"', head)
            if name:
                run, field = name.group(1).decode(), name.group(2).decode()
                value = json.loads(content)
                known = {key: one for key, one in value.items() if one} if not field else None
                kept = found.setdefault(run, {})
                if known is not None:
                    kept |= known
                elif value:
                    kept[field] = value
    return list(found.values())
