"""HTTP/1 messages read out of a byte stream: bytes in, events out; no socket, and no rejecting.

What passes through a recorder is not the recorder's to refuse, so this scanner is tolerant where
RFC 9112 lets a recipient be (bare LF, space before the colon, raw UTF-8 in the target, equal
repeated Content-Length) and, where framing cannot be known at all, says `Opaque` and hands on the
bytes as they are. It understands just enough to find where a message ends.
"""

import re
from collections import deque
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

Framing = Literal["none", "length", "chunked", "close"]
"""How the end of a body is told (RFC 9112 section 6.3)."""

HEAD_LIMIT: Final = 1 << 18
LINE_LIMIT: Final = 1 << 14
LINES_LIMIT: Final = 1 << 23
"""Bytes of a body's chunk-size lines that are kept where they are odd: they go into one event."""

TRAILER_LIMIT: Final = 1 << 16
_SHORT: Final = 256
_SMALL: Final = 1 << 12
_CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,16}")
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")


class Head(Struct, frozen=True):
    """A start line and its header section.

    `raw` is exactly what was sent, the empty line at its end included; `headers` are (name, value)
    in order, case kept, outer white space and line folding taken off the value.
    """

    raw: bytes
    start: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def get(self, name: bytes) -> bytes | None:
        """The first value of a header; `name` in lower case."""
        size = len(name)
        for key, value in self.headers:
            if len(key) == size and key.lower() == name:
                return value
        return None

    def get_all(self, name: bytes) -> list[bytes]:
        """All values of a header, in order; `name` in lower case."""
        size = len(name)
        return [value for key, value in self.headers if len(key) == size and key.lower() == name]

    def has_token(self, name: bytes, token: bytes) -> bool:
        """Whether a comma-separated header names this token (both in lower case)."""
        for value in self.get_all(name):
            for part in value.split(b","):
                if part.strip().lower() == token:
                    return True
        return False


class RequestLine(Struct, frozen=True, gc=False):
    """Method, target and version as sent; `version` is empty for HTTP/0.9."""

    method: bytes
    target: bytes
    version: bytes


class StatusLine(Struct, frozen=True, gc=False):
    """Version, status code and reason phrase as sent; status 0 where there is no number."""

    version: bytes
    status: int
    reason: bytes


class HeadSeen(Struct, frozen=True):
    """A head is complete; `framing` says how its body will end. `interim` is a 1xx but not 101."""

    head: Head
    framing: Framing
    interim: bool = False
    raw: bytes = b""


class Data(Struct, frozen=True, gc=False):
    """Body bytes, chunked framing taken off.

    `continues`: these bytes belong to the same chunk of the sender as the last event's.
    `raw` is the same with its framing, kept by a scanner made with `keep_raw`.
    """

    payload: bytes
    continues: bool = False
    raw: bytes = b""


class End(Struct, frozen=True, gc=False):
    """The message is complete. `chunk_lines` and `trailers` as in `rerail.tape.records.Body`."""

    framing: Framing
    chunk_lines: bytes = b""
    trailers: bytes = b""
    raw: bytes = b""


class Opaque(Struct, frozen=True, gc=False):
    """From here on the stream is not HTTP, or not any more: `raw` and all that follows is bytes."""

    raw: bytes
    why: str


WireEvent = HeadSeen | Data | End | Opaque


def parse_head(raw: bytes) -> Head:
    """Read a head. Never raises: a line without a colon is a header with that name and no value."""
    return _small_head(raw) if len(raw) <= _SMALL else _head(raw)


def _head(raw: bytes) -> Head:
    text = raw
    if b"\n " in raw or b"\n\t" in raw:
        # RFC 9112 section 5.2: obs-fold is replaced by a space.
        text = _FOLD.sub(b" ", raw)
    start, *lines = text.replace(b"\r\n", b"\n").split(b"\n")
    fields = [line.partition(b":") for line in lines if line]
    headers = tuple([(name.strip(b" \t"), value.strip(b" \t")) for name, _, value in fields])
    return Head(raw, start, headers)


# A client that asks the same again sends the same head, and so does an origin within a second.
_small_head = lru_cache(maxsize=64)(_head)


def request_line(head: Head) -> RequestLine:
    """Split a request line; a target with spaces in it stays whole."""
    start = head.start
    return _short_request_line(start) if len(start) <= _SHORT else _request_line(start)


def _request_line(start: bytes) -> RequestLine:
    method, _, rest = start.partition(b" ")
    target, space, version = rest.rpartition(b" ")
    if not space or not version.startswith(b"HTTP/"):
        return RequestLine(method, rest.strip(), b"")
    return RequestLine(method, target.strip(), version)


def status_line(head: Head) -> StatusLine:
    """Split a status line; the reason phrase may be empty or missing."""
    start = head.start
    return _short_status_line(start) if len(start) <= _SHORT else _status_line(start)


def _status_line(start: bytes) -> StatusLine:
    version, _, rest = start.partition(b" ")
    code, _, reason = rest.lstrip(b" ").partition(b" ")
    return StatusLine(version, int(code) if code.isdigit() and len(code) < 5 else 0, reason)


# The same few lines come again and again, and each is asked for several times.
_short_request_line = lru_cache(maxsize=256)(_request_line)
_short_status_line = lru_cache(maxsize=64)(_status_line)


def content_length(head: Head) -> int | None:
    """The length a head announces: None where there is none, -1 where it cannot be trusted.

    RFC 9110 section 8.6: a list of identical values counts as that value.
    """
    values = head.get_all(b"content-length")
    if not values:
        return None
    value = values[0].strip()
    if len(values) > 1 or b"," in value:
        value, *others = {part.strip() for value in values for part in value.split(b",")}
        if others:
            return -1
    return int(value) if value.isdigit() and len(value) < 19 else -1


def head_end(data: bytes, start: int = 0) -> int:
    """Where the first head in `data` ends, its empty line included; -1 while it is not complete."""
    strict = data.find(b"\n\r\n", start)
    # What follows a head may be long: only what comes before its end is searched again.
    bare = data.find(b"\n\n", start, strict if strict >= 0 else len(data))
    if bare >= 0:
        return bare + 2
    return strict + 3 if strict >= 0 else -1


class Scanner:
    """One direction of a connection. Feed it what comes; it remembers what is incomplete."""

    __slots__ = (
        "_body_left", "_events", "_framing", "_held", "_keep_raw", "_lines", "_lines_size", "_odd",
        "_parsing", "_started", "_trailers",
    )  # fmt: skip

    def __init__(self, *, keep_raw: bool = False) -> None:
        self._keep_raw = keep_raw
        self._held = b""
        self._events: list[WireEvent] = []
        self._parsing = self._scan_head
        self._reset()

    def _reset(self) -> None:
        self._framing: Framing = "none"
        self._body_left = 0
        self._lines: list[bytes] = []
        self._lines_size = 0
        self._odd = False
        self._started = False
        self._trailers = b""

    @property
    def between_messages(self) -> bool:
        """Whether the last message is complete and nothing of a next one has come."""
        return self._parsing == self._scan_head and not self._held

    @property
    def lines_of_broken_chunks(self) -> bytes:
        """All chunk-size lines so far, where the last one's chunk is not here whole or one is odd.

        They are what a body that breaks off here needs besides its bytes.
        """
        inside = self._framing == "chunked" and self._body_left > 0
        return self._all_lines() if inside or self._odd else b""

    def feed(self, data: bytes) -> list[WireEvent]:
        """What these bytes complete, in order."""
        if self._held:
            data = self._held + data
            self._held = b""
        position, size = 0, len(data)
        while position < size:
            after = self._parsing(data, position)
            if after < 0:
                self._held = data[position:] if position else data
                break
            position = after
        events, self._events = self._events, []
        return events

    def end_of_stream(self) -> list[WireEvent]:
        """The sender closed: a close-delimited body is complete, anything else held is opaque."""
        if self._parsing == self._scan_until_close:
            self._finish()
        elif self._held:
            held, self._held = self._held, b""
            self._events.append(Opaque(held, "the stream ended inside a head or a chunk line"))
        events, self._events = self._events, []
        return events

    def take_held(self) -> bytes:
        """Give back what was fed and not yet understood (used when a protocol is switched)."""
        held, self._held = self._held, b""
        return held

    def _give_up(self, data: bytes, position: int, why: str) -> int:
        self._parsing = self._scan_opaque
        self._events.append(Opaque(data[position:], why))
        return len(data)

    def _scan_opaque(self, data: bytes, position: int) -> int:
        self._events.append(Opaque(data[position:], ""))
        return len(data)

    def _scan_head(self, data: bytes, position: int) -> int:
        # RFC 9112 section 2.2: empty lines before a start line are ignored.
        begin = position
        while begin < len(data) and data[begin] in b"\r\n":
            begin += 1
        end = head_end(data, begin)
        if end < 0:
            if len(data) - position > HEAD_LIMIT:
                return self._give_up(data, position, f"no head in the first {HEAD_LIMIT} bytes")
            return -1
        head = parse_head(data[begin:end])
        raw = data[position:end] if self._keep_raw else b""
        return self._begin(head, raw, data, end)

    def _begin(self, head: Head, raw: bytes, data: bytes, end: int) -> int:
        raise AssertionError("a scanner is a RequestScanner or a ReplyScanner")

    def _enter_body(self, head: Head, raw: bytes, framing: Framing, length: int) -> None:
        self._reset()
        self._framing = framing
        self._events.append(HeadSeen(head, framing, raw=raw))
        if framing == "chunked":
            self._parsing = self._scan_chunk_line
        elif framing == "close":
            self._parsing = self._scan_until_close
        elif framing == "length" and length:
            self._body_left = length
            self._parsing = self._scan_length
        else:
            self._finish()

    def _scan_length(self, data: bytes, position: int) -> int:
        end = min(len(data), position + self._body_left)
        payload = data if position == 0 and end == len(data) else data[position:end]
        self._body_left -= len(payload)
        self._events.append(Data(payload, raw=payload if self._keep_raw else b""))
        if not self._body_left:
            self._finish()
        return end

    def _scan_until_close(self, data: bytes, position: int) -> int:
        payload = data[position:] if position else data
        self._events.append(Data(payload, raw=payload if self._keep_raw else b""))
        return len(data)

    def _scan_chunk_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position) + 1
        if not end:
            if len(data) - position > LINE_LIMIT:
                return self._give_up(data, position, "a chunk-size line without an end")
            return -1
        line = data[position:end]
        digits = line.partition(b";")[0].strip(b" \t\r\n")
        if not _CHUNK_SIZE.fullmatch(digits):
            return self._give_up(data, position, "a chunk size that is no hexadecimal number")
        size = int(digits, 16)
        self._lines_size += len(line)
        if self._lines_size <= LINES_LIMIT:
            self._lines.append(line)
        self._odd = self._odd or line != b"%x\r\n" % size
        self._started = False
        self._body_left = size
        if size:
            self._parsing = self._scan_chunk
        else:
            self._parsing = self._scan_trailers
        if self._keep_raw:
            self._events.append(Data(b"", continues=True, raw=line))
        return end

    def _scan_chunk(self, data: bytes, position: int) -> int:
        end = min(len(data), position + self._body_left)
        payload = data[position:end]
        self._body_left -= len(payload)
        raw = payload if self._keep_raw else b""
        self._events.append(Data(payload, continues=self._started, raw=raw))
        self._started = True
        if not self._body_left:
            self._parsing = self._scan_chunk_end
        return end

    def _scan_chunk_end(self, data: bytes, position: int) -> int:
        end = position + 2 if data.startswith(b"\r\n", position) else position + 1
        if data[position : position + 1] == b"\r" and len(data) == position + 1:
            return -1
        if data[end - 1 : end] != b"\n":
            return self._give_up(data, position, "a chunk longer than its size says")
        if end - position == 1:
            self._odd = True
        self._parsing = self._scan_chunk_line
        if self._keep_raw:
            self._events.append(Data(b"", continues=True, raw=data[position:end]))
        return end

    def _scan_trailers(self, data: bytes, position: int) -> int:
        """RFC 9112 section 7.1.2: header lines up to an empty line, most often none."""
        if data.startswith(b"\r\n", position):
            end, self._trailers = position + 2, b""
        elif data.startswith(b"\n", position):
            end, self._trailers = position + 1, b""
        else:
            end = head_end(data, position)
            if end < 0:
                if len(data) - position > TRAILER_LIMIT:
                    return self._give_up(data, position, "a trailer section without an end")
                return -1
            blank = 2 if data.startswith(b"\r\n", end - 2) else 1
            self._trailers = data[position : end - blank]
        self._finish(raw=data[position:end] if self._keep_raw else b"")
        return end

    def _all_lines(self) -> bytes:
        """The chunk-size lines; nothing where there were too many: half of them tell nothing."""
        return b"".join(self._lines) if self._lines_size <= LINES_LIMIT else b""

    def _finish(self, raw: bytes = b"") -> None:
        lines = self._all_lines() if self._odd else b""
        self._events.append(End(self._framing, lines, self._trailers, raw))
        self._parsing = self._scan_head


class RequestScanner(Scanner):
    """The agent's direction."""

    __slots__ = ()

    def _begin(self, head: Head, raw: bytes, data: bytes, end: int) -> int:
        """RFC 9112 section 6.3: without Transfer-Encoding or Content-Length there is no body."""
        length = content_length(head)
        if head.has_token(b"transfer-encoding", b"chunked"):
            self._enter_body(head, raw, "chunked", 0)
        elif length is None:
            self._enter_body(head, raw, "none", 0)
        elif length < 0:
            return self._give_up(
                data, end - len(raw or head.raw), "a Content-Length that is no number"
            )
        else:
            self._enter_body(head, raw, "length", length)
        return end


class ReplyScanner(Scanner):
    """The origin's direction. Its framing depends on what was asked: see `expect`."""

    __slots__ = ("_methods",)

    def __init__(self, *, keep_raw: bool = False) -> None:
        super().__init__(keep_raw=keep_raw)
        self._methods: deque[bytes] = deque()

    def expect(self, method: bytes) -> None:
        """Say that a request of this method went out; replies come in the order of requests."""
        self._methods.append(method)

    def _begin(self, head: Head, raw: bytes, data: bytes, end: int) -> int:
        status = status_line(head).status
        if not head.start.startswith(b"HTTP/"):
            return self._give_up(data, end - len(raw or head.raw), "a reply without a status line")
        if 100 <= status < 200 and status != 101:
            self._events.append(HeadSeen(head, "none", interim=True, raw=raw))
            return end
        method = self._methods.popleft() if self._methods else b"GET"
        length = content_length(head)
        if status == 101 or (method == b"CONNECT" and 200 <= status < 300):
            self._events.append(HeadSeen(head, "none", raw=raw))
            self._parsing = self._scan_opaque
        elif method == b"HEAD" or status in (204, 304):
            # RFC 9112 section 6.3, rule 1: never a body, whatever the headers say.
            self._enter_body(head, raw, "none", 0)
        elif head.has_token(b"transfer-encoding", b"chunked"):
            self._enter_body(head, raw, "chunked", 0)
        elif length is None or length < 0 or head.get(b"transfer-encoding") is not None:
            self._enter_body(head, raw, "close", 0)
        else:
            self._enter_body(head, raw, "length", length)
        return end
