"""Questions and answers in JSON-RPC with a kept program, each within its time.

Knows nothing of what is asked. What the program asks us is answered with nothing, so that it goes
on; what it tells us unasked is handed to whoever made this.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from rerail.errors import ToolFailed
from rerail.launch.kept import KeptProcess, TooSlow
from rerail.tools.kept import Ended
from rerail.wire.lsp import Messages, NotFramed, framed

_METHOD_NOT_FOUND: Final = -32601


class Refused(Exception):
    """The program answered with an error instead of a result."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.code = code


class Talk:
    """A conversation with one program, for as long as it lives."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        told: Callable[[str, Any], None] = lambda method, params: None,
    ) -> None:
        """`told` hears notifications. Raises `CommandNotFound`, `CommandNotExecutable`."""
        self._name = name
        self._told = told
        self._process = KeptProcess(words, cwd=cwd, environment=environment)
        self._messages = Messages()
        self._arrived: list[bytes] = []
        self._number = 0

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def tell(self, method: str, params: object) -> None:
        """A notification: no answer comes."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object, until_ns: int) -> Any:
        """The result of a request. Raises `Refused`, `Ended`, and `ToolFailed` when time is up."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._next(method, until_ns)
            if "method" in message:
                self._heard(message)
            elif message.get("id") == number:
                break
            # An answer to a question that nobody waits for any more is passed over.
        if error := message.get("error"):
            raise Refused(method, error.get("code", 0), str(error.get("message", "")))
        return message.get("result")

    def close(self) -> None:
        """End the program."""
        self._process.stop()

    # One message at a time.

    def _next(self, method: str, until_ns: int) -> dict[str, Any]:
        while not self._arrived:
            try:
                heard = self._process.receive(until_ns)
                self._arrived += self._messages.feed(heard)
            except TooSlow:
                raise ToolFailed(
                    f"the kept {self._name} did not answer {method} in time",
                    hint="give it more time, or look at what these files make it do",
                ) from None
            except NotFramed as error:
                raise Ended(f"it said what is no message: {error}") from error
            if not heard:
                raise Ended(self._process.errors or "it said nothing")
        return self._decoded(self._arrived.pop(0))

    @staticmethod
    def _decoded(content: bytes) -> dict[str, Any]:
        try:
            message = msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Ended(f"it said what is no JSON: {error}") from error
        if not isinstance(message, dict):
            raise Ended("it said what is no JSON-RPC")
        return message

    def _heard(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        if "id" not in message:
            self._told(method, params)
        elif method == "workspace/configuration":
            nothing = [None for _ in (params or {}).get("items", [])]
            self._send({"id": message["id"], "result": nothing})
        elif method in ("client/registerCapability", "client/unregisterCapability"):
            self._told(method, params)
            self._send({"id": message["id"], "result": None})
        elif method.startswith(("window/", "workspace/")):
            self._send({"id": message["id"], "result": None})
        else:
            error = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not known here"}
            self._send({"id": message["id"], "error": error})

    def _send(self, message: dict[str, object]) -> None:
        self._process.send(framed(msgspec.json.encode({"jsonrpc": "2.0", **message})))
