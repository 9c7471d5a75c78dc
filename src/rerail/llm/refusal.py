"""The reply by which rerail refuses a request: a 400 in the error form that the client reads.

SDKs retry 408, 409, 429 and 5xx by themselves; a 400 they raise at once, with its text. Knows the
forms, not the reasons: the text is given.
"""

from collections.abc import Sequence

import msgspec

from rerail.llm.calls import ErrorForm, ModelCall

Json = dict[str, object]


def error_form(call: ModelCall | None, headers: Sequence[tuple[str, str]] = ()) -> ErrorForm:
    """The form a client understands: its provider's, else JSON where it speaks JSON, else text.

    git and curl show a plain text to the person; an HTTP library's user reads either.
    """
    if call is not None:
        return call.errors
    spoken = ("accept", "content-type")
    return "json" if any("json" in v.lower() for k, v in headers if k.lower() in spoken) else "text"


def refusal(
    text: str, *, code: str, form: ErrorForm = "text", method: str = "POST", status: int = 400
) -> bytes:
    """A whole HTTP/1.1 reply, head and body, that refuses a request in rerail's own name.

    `text` says what was refused and why; `code` is one word for programs, such as `used_up`. A HEAD
    request gets the head alone (RFC 9110 section 9.3.2).
    """
    said = f"rerail refused this request: {text}"
    body = _body(said, code, form, status)
    kind = b"text/plain; charset=utf-8" if form == "text" else b"application/json"
    lines = [
        b"HTTP/1.1 %d %b" % (status, _REASONS.get(status, b"Refused")),
        b"Content-Type: " + kind,
        b"Content-Length: %d" % len(body),
        b"X-Should-Retry: false",
        b"X-Rerail-Refused: " + code.encode("ascii", "replace"),
    ]
    if form == "aws":
        lines.append(b"X-Amzn-Errortype: ValidationException")
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    return head if method == "HEAD" else head + body


_REASONS = {400: b"Bad Request", 426: b"Upgrade Required", 502: b"Bad Gateway"}


def _body(text: str, code: str, form: ErrorForm, status: int) -> bytes:
    if form == "text":
        return text.encode("utf-8", "replace") + b"\n"
    return msgspec.json.encode(_json(text.encode("utf-8", "replace").decode(), code, form, status))


def _json(text: str, code: str, form: ErrorForm, status: int) -> Json:
    refused = f"rerail_{code}"
    if form == "openai":
        kind = "invalid_request_error"
        return {"error": {"message": text, "type": kind, "param": None, "code": refused}}
    if form == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    if form == "gemini":
        return {"error": {"code": status, "message": text, "status": "INVALID_ARGUMENT"}}
    if form == "aws":
        return {"message": text}
    if form == "ollama":
        return {"error": text}
    return {"error": text, "code": refused}
