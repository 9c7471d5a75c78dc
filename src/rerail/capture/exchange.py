"""One exchange on its way to the tape: its request, its reply, and how it ended. Knows no socket.

A request is committed at once, a body as it comes, in parts; where the connection ends first, what
had come is kept and said to be a part.
"""

from typing import TYPE_CHECKING

from rerail.proxy.handler import Route
from rerail.tape.records import (
    Body,
    BodyEnd,
    Framing,
    HttpFailed,
    HttpReplyBody,
    HttpReplyHead,
    HttpRequest,
    HttpRequestBody,
    HttpRequestEdited,
    Side,
)
from rerail.tape.writer import BodyWriter
from rerail.wire.http1 import Head, request_line

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder
    from rerail.capture.switched import TunnelRecord, WebSocketRecord


class ExchangeRecord:
    """Is told what passes, in its order, and says so on the tape."""

    def __init__(
        self, recorder: "Recorder", exchange_id: int, route: Route, head: Head, framing: Framing
    ) -> None:
        self._recorder = recorder
        self._id = exchange_id
        self._route = route
        self._head = head
        line = request_line(head)
        path = line.target.partition(b"?")[0].decode("latin-1")
        self._lane = f"{line.method.decode('latin-1')} {route.authority}{path}"
        self._request_exact = framing == "chunked"
        self._request_body: BodyWriter | None = None
        self._request_written = False
        self._request_over = False
        self._reply_exact = True
        self._reply_body: BodyWriter | None = None
        self._reply_begun = False
        self._switched: WebSocketRecord | TunnelRecord | None = None
        self._is_under_way = False
        recorder.open.add(self)

    # The request.

    def request_data(self, payload: bytes, continues: bool) -> None:
        if self._request_body is None:
            self._request_body = self._new_body("agent", exact=self._request_exact)
        self._write(self._request_body, payload, continues)

    def request_end(self, framing: Framing, chunk_lines: bytes, trailers: bytes) -> None:
        body = self._finished("agent", self._request_body, framing, chunk_lines, trailers)
        self._request_over = True
        in_time = not self._request_written
        if in_time:
            self._write_request(body, unfinished=False)
        else:
            self._write_request_body(body, "complete")
        posted = self._head.start.startswith(b"POST ")
        if self._asks_a_model(posted):
            if in_time:
                self._recorder.step(self._id, self._route.connection_id)
            if posted:
                self._asked_a_model()

    def _asked_a_model(self) -> None:
        self._recorder.turn(self._route.process_id)
        if self in self._recorder.open:
            self._is_under_way = True
            self._recorder.under_way[self._route.process_id] += 1

    def restored(self) -> None:
        self._recorder.step(self._id, self._route.connection_id, why="restored")

    def edited(self, body: bytes, why: str) -> None:
        content = self._recorder.writer.blob(self._recorder.redactor.body(body))
        self._recorder.emit(
            lambda at, wall: HttpRequestEdited(
                at=at, wall=wall, exchange_id=self._id, content=content, size=len(body), why=why
            )
        )

    def _asks_a_model(self, posted: bool) -> bool:
        """Whether it does, or opens a session with one."""
        if not posted and self._head.get(b"upgrade") is None:
            return False
        from rerail.llm.calls import posted_call, session_api  # its table takes a while to be made

        if posted:
            return posted_call(self._route.host, self._head) is not None
        return bool(session_api(self._route.host, self._head))

    def _said(self, message: bytes) -> None:
        """A text of the agent on a WebSocket: a turn of a model is a moment like a request."""
        from rerail.llm.calls import is_turn, session_api

        if is_turn(session_api(self._route.host, self._head), message):
            self._recorder.step(self._id, self._route.connection_id)
            self._recorder.turn(self._route.process_id)

    def request_cut(self, ended: BodyEnd) -> None:
        self._request_over = True
        self._write_request_body(self._finished("agent", self._request_body, "close"), ended)

    def _write_request(self, body: Body | None, *, unfinished: bool) -> None:
        self._request_written = True
        route = self._route
        self._recorder.emit(
            lambda at, wall: HttpRequest(
                at=at,
                wall=wall,
                component="agent",
                exchange_id=self._id,
                connection_id=route.connection_id,
                scheme=route.scheme,
                host=route.host,
                port=route.port,
                head=self._head.raw,
                body=body,
                unfinished=unfinished,
                process_id=route.process_id,
            ),
            urgent=True,
        )

    def _write_request_body(self, body: Body | None, ended: BodyEnd) -> None:
        self._recorder.emit(
            lambda at, wall: HttpRequestBody(
                at=at, wall=wall, component="agent", exchange_id=self._id, body=body, ended=ended
            )
        )

    # The reply.

    def reply_head(self, head: Head, interim: bool) -> None:
        if not self._request_written:
            self._write_request(None, unfinished=True)
        if not interim:
            self._reply_begun = True
            media_type = (head.get(b"content-type") or b"").lower()
            chunked = head.has_token(b"transfer-encoding", b"chunked")
            self._reply_exact = chunked or media_type.startswith(b"text/event-stream")
        self._recorder.emit(
            lambda at, wall: HttpReplyHead(
                at=at, wall=wall, component="origin", exchange_id=self._id, head=head.raw
            )
        )

    def reply_data(self, payload: bytes, continues: bool) -> None:
        if self._reply_body is None:
            self._reply_body = self._new_body("origin", exact=self._reply_exact)
        self._write(self._reply_body, payload, continues)

    def reply_end(
        self, framing: Framing, chunk_lines: bytes, trailers: bytes, ended: BodyEnd
    ) -> None:
        body = self._finished("origin", self._reply_body, framing, chunk_lines, trailers)
        self._write_reply_body(body, ended)
        self._is_over()

    def _is_over(self) -> None:
        self._recorder.open.discard(self)
        if self._is_under_way:
            self._is_under_way = False
            self._recorder.under_way[self._route.process_id] -= 1

    def _write_reply_body(self, body: Body | None, ended: BodyEnd) -> None:
        self._recorder.emit(
            lambda at, wall: HttpReplyBody(
                at=at, wall=wall, component="origin", exchange_id=self._id, body=body, ended=ended
            ),
            urgent=True,
        )

    # Other ends.

    def switched(self, head: Head) -> None:
        from rerail.capture.switched import WebSocketRecord, websocket_extensions

        self.reply_head(head, interim=False)
        if (head.get(b"upgrade") or b"").lower() == b"websocket":
            extensions = websocket_extensions(head)
            self._switched = WebSocketRecord(self._recorder, self._id, self._lane, extensions)
            self._switched.said = self._said
        else:
            protocol = (head.get(b"upgrade") or b"another protocol").decode("latin-1")
            self._switched = self._recorder.tunnel(self._route, f"switched to {protocol}")

    def switched_data(self, sender: Side, data: bytes) -> None:
        if self._switched is not None:
            self._switched.data(sender, data)

    def failed(self, ended: BodyEnd, reason: str, chunk_lines: bytes = b"") -> None:
        """The connection ended first: what had come is kept, and how it ended is said."""
        self._is_over()
        if self._switched is not None:
            self._switched.closed(ended)
            return
        if not self._request_over:
            body = self._finished("agent", self._request_body, "close")
            if not self._request_written:
                self._write_request(body, unfinished=True)
            else:
                self._write_request_body(body, ended)
        if self._reply_begun:
            body = self._finished("origin", self._reply_body, "close", chunk_lines)
            self._write_reply_body(body, ended)
            return
        self._recorder.emit(
            lambda at, wall: HttpFailed(
                at=at, wall=wall, exchange_id=self._id, ended=ended, reason=reason
            ),
            urgent=True,
        )

    # Bodies.

    def _new_body(self, side: Side, *, exact: bool) -> BodyWriter:
        lane = f"{self._lane} {side}"
        return self._recorder.writer.body(exchange_id=self._id, side=side, lane=lane, exact=exact)

    def _write(self, body: BodyWriter, payload: bytes, continues: bool) -> None:
        recorder = self._recorder
        cleaned = recorder.redactor.body(payload)
        body.write(cleaned, at=recorder.clock.at(), continues=continues)

    def _finished(
        self,
        side: Side,
        writer: BodyWriter | None,
        framing: Framing,
        chunk_lines: bytes = b"",
        trailers: bytes = b"",
    ) -> Body | None:
        if writer is None:
            if not chunk_lines and not trailers:
                return None
            # No bytes, but a framing that must come back as it was.
            redactor = self._recorder.redactor
            digest = self._recorder.writer.blob(redactor.body(b""))
            return Body(
                digest=digest, size=0, framing=framing, chunk_lines=chunk_lines, trailers=trailers
            )
        return writer.finish(framing=framing, chunk_lines=chunk_lines, trailers=trailers)
