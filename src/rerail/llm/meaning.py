"""What a model call's bodies mean: the request as a prompt, the reply as a completion. No tape.

Bodies are given with their content codings undone. Where a body cannot be read as its API says, the
answer is None or what came before it broke off: a view never fails and never guesses.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rerail.llm import anthropic, chat, gemini, ollama, responses
from rerail.llm.view import Completion, Document, Prompt
from rerail.wire.any_json import loaded
from rerail.wire.sse import events


@dataclass(frozen=True, slots=True)
class _Reader:
    prompt: Callable[[Document], Prompt]
    completion: Callable[[Document], Completion]
    streamed: Callable[[Iterable[Document]], Completion]


_READERS: Final = {
    "openai.chat_completions": _Reader(chat.prompt, chat.completion, chat.streamed),
    "openai.responses": _Reader(responses.prompt, responses.completion, responses.streamed),
    "anthropic.messages": _Reader(anthropic.prompt, anthropic.completion, anthropic.streamed),
    "gemini.generate_content": _Reader(gemini.prompt, gemini.completion, gemini.streamed),
    "ollama.chat": _Reader(ollama.prompt, ollama.completion, ollama.streamed),
}


def prompt_of(api: str, body: bytes) -> Prompt | None:
    """What a request to an API of `rerail.llm.calls` asks; None where that cannot be told."""
    reader, document = _READERS.get(api), loaded(body)
    return reader.prompt(document) if reader and isinstance(document, dict) else None


def completion_of(api: str, body: bytes, content_type: str = "") -> Completion | None:
    """What a reply says, streamed or not; None where that cannot be told."""
    reader = _READERS.get(api)
    if reader is None:
        return None
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return reader.streamed(_event_documents(body))
    document = loaded(body)
    if isinstance(document, dict):
        return reader.completion(document)
    if isinstance(document, list):
        return reader.streamed(entry for entry in document if isinstance(entry, dict))
    lines = [entry for line in body.splitlines() if isinstance(entry := loaded(line), dict)]
    return reader.streamed(lines) if lines else None


def completion_in(api: str, messages: Iterable[bytes]) -> Completion | None:
    """What the messages say that answer one turn on an API's WebSocket."""
    reader = _READERS.get(api)
    if reader is None:
        return None
    return reader.streamed(
        entry for message in messages if isinstance(entry := loaded(message), dict)
    )


def _event_documents(body: bytes) -> Iterator[Document]:
    for event in events(body):
        document = loaded(event.data.encode())
        if isinstance(document, dict):
            yield document
