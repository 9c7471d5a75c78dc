"""WebSocket origins: an echo and a conversation, with permessage-deflate where it is offered.

It speaks through `wsproto` as a whole connection, and must not know how rerail reads frames.
"""

from collections.abc import Callable, Iterator, Sequence

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    TextMessage,
)
from wsproto.events import Request as Upgrade
from wsproto.extensions import PerMessageDeflate

from rerail.testing.connection import Connection, Request
from rerail.testing.replies import Reply, head


def websocket_echo(
    *,
    greeting: Sequence[str | bytes] = (),
    ping: bytes | None = None,
    close_after: int | None = None,
    close_code: int = 1000,
    close_reason: str = "",
    compress: bool = True,
) -> Reply:
    """Accept an upgrade and send every message back, fragment by fragment.

    Args:
        greeting: Messages sent before the client says anything.
        ping: A ping's payload, sent after the greeting.
        close_after: Close from this side after so many echoed messages; else the client closes.
        close_code: With what code (1000–4999).
        close_reason: And what reason.
        compress: Accept permessage-deflate (RFC 7692) where offered.
    """

    def reply(connection: Connection, request: Request) -> None:
        if (request.header("upgrade") or "").lower() != "websocket":
            connection.send(head(426, [("Upgrade", "websocket"), ("Content-Length", "0")]))
            return
        _Echo(connection, compress).run(
            request, greeting, ping, close_after, (close_code, close_reason)
        )

    return reply


def websocket_refusal(status: int = 403) -> Reply:
    """Answer an upgrade with an ordinary reply."""

    def reply(connection: Connection, request: Request) -> None:
        protocol = WSConnection(ConnectionType.SERVER)
        protocol.receive_data(request.head)
        for _ in protocol.events():
            refusal = RejectConnection(status_code=status, headers=[(b"content-length", b"0")])
            connection.send(protocol.send(refusal))

    return reply


def websocket_conversation(
    connection: Connection, request: Request, answer: Callable[[str], Iterator[str]]
) -> None:
    """Accept an upgrade, then answer every text message with those that `answer` gives for it."""
    if (request.header("upgrade") or "").lower() != "websocket":
        connection.send(head(426, [("Upgrade", "websocket"), ("Content-Length", "0")]))
        return
    _Conversation(connection, answer).run(request, (), None, None, (1000, ""))


class _Echo:
    def __init__(self, connection: Connection, compress: bool) -> None:
        self._connection = connection
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._compress = compress
        self._echoed = 0

    def run(
        self,
        request: Request,
        greeting: Sequence[str | bytes],
        ping: bytes | None,
        close_after: int | None,
        closing: tuple[int, str],
    ) -> None:
        self._protocol.receive_data(request.head)
        for event in self._protocol.events():
            self._take(event)
        for message in greeting:
            self._say(_message(message))
        if ping is not None:
            self._say(Ping(ping))
        while close_after is None or self._echoed < close_after:
            if not self._listen():
                self._connection.close()
                return
        self._say(CloseConnection(code=closing[0], reason=closing[1] or None))
        while self._listen():
            pass
        self._connection.close()

    def _listen(self) -> bool:
        """Take what has arrived; whether the conversation goes on."""
        data = self._connection.receive()
        if not data:
            return False
        self._protocol.receive_data(data)
        return all(self._take(event) for event in self._protocol.events())

    def _take(self, event: Event) -> bool:
        match event:
            case Upgrade():
                offered = event.subprotocols
                self._say(
                    AcceptConnection(
                        subprotocol=offered[0] if offered else None,
                        extensions=[PerMessageDeflate()] if self._compress else [],
                    )
                )
            case TextMessage() | BytesMessage():
                self._answer(event)
            case Ping():
                self._say(event.response())
            case Pong():
                pass
            case CloseConnection():
                # A broken frame is reported as a close too, with the state still open; where this
                # side closed first, the client's close is the answer, and needs none.
                if self._protocol.state in (ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING):
                    self._say(event.response())
                return False
        return True

    def _answer(self, event: TextMessage | BytesMessage) -> None:
        self._say(event)
        self._echoed += event.message_finished

    def _say(self, event: Event) -> None:
        self._connection.send(self._protocol.send(event))


class _Conversation(_Echo):
    def __init__(self, connection: Connection, answer: Callable[[str], Iterator[str]]) -> None:
        super().__init__(connection, compress=True)
        self._answers = answer
        self._held = ""

    def _answer(self, event: TextMessage | BytesMessage) -> None:
        self._held += event.data if isinstance(event, TextMessage) else event.data.decode()
        if event.message_finished:
            text, self._held = self._held, ""
            for message in self._answers(text):
                self._say(TextMessage(message))


def _message(content: str | bytes) -> Event:
    return TextMessage(content) if isinstance(content, str) else BytesMessage(content)
