"""A refusal is a whole 400 that the provider's own SDK raises with the text in it."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import anthropic
import openai
import pytest

from rerail.llm.calls import ErrorForm, model_call
from rerail.llm.refusal import error_form, refusal
from rerail.wire.http1 import ReplyScanner

TEXT = "messages[6].content is not as recorded"
FORMS: list[ErrorForm] = ["openai", "anthropic", "gemini", "ollama", "aws", "json", "text"]


@contextmanager
def answering(raw: bytes) -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that gives every request this reply: its URL, and the paths asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            self.wfile.write(raw)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("form", FORMS)
def test_the_reply_is_one_whole_http_message(form: ErrorForm) -> None:
    raw = refusal(TEXT, code="different", form=form)
    scanner = ReplyScanner()
    scanner.expect(b"POST")
    events = scanner.feed(raw)
    assert scanner.between_messages
    assert [type(event).__name__ for event in events] == ["HeadSeen", "Data", "End"]
    assert raw.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"rerail refused this request: " + TEXT.encode() in raw


@pytest.mark.parametrize("form", [form for form in FORMS if form != "text"])
def test_every_form_but_text_is_json(form: ErrorForm) -> None:
    body = refusal(TEXT, code="different", form=form).partition(b"\r\n\r\n")[2]
    assert TEXT in json.dumps(json.loads(body))


def test_a_head_request_gets_the_head_alone() -> None:
    raw = refusal(TEXT, code="never_asked", method="HEAD")
    assert raw.endswith(b"\r\n\r\n")
    assert b"Content-Length: 0" not in raw


def test_text_that_cannot_be_encoded_does_no_harm() -> None:
    assert b"\\ud800" not in refusal("lone \ud800 surrogate", code="different", form="openai")


def test_the_openai_sdk_raises_a_bad_request_with_the_text_and_does_not_retry() -> None:
    with answering(refusal(TEXT, code="different", form="openai")) as (url, asked):
        client = openai.OpenAI(api_key="k", base_url=url)
        with client, pytest.raises(openai.BadRequestError, match="rerail refused this request"):
            client.chat.completions.create(model="m", messages=[])
    assert asked == ["/chat/completions"]


def test_the_anthropic_sdk_raises_a_bad_request_with_the_text_and_does_not_retry() -> None:
    with answering(refusal(TEXT, code="different", form="anthropic")) as (url, asked):
        client = anthropic.Anthropic(api_key="k", base_url=url)
        with client, pytest.raises(anthropic.BadRequestError, match=re.escape(TEXT)):
            client.messages.create(model="m", max_tokens=1, messages=[])
    assert asked == ["/v1/messages"]


def test_a_client_is_answered_in_the_form_it_reads() -> None:
    call = model_call("POST", "localhost", "/api/chat")
    assert error_form(call) == "ollama"
    assert error_form(None, [("Accept", "application/json")]) == "json"
    assert error_form(None, [("Content-Type", "application/vnd.api+json")]) == "json"
    assert error_form(None, [("Accept", "*/*")]) == "text"
