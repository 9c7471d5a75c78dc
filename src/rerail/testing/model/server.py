"""The simulated model as a server: three APIs over HTTP, troubles on demand. It decides nothing.

It is simulated and says so: whatever model was asked for, the reply's model name is `simulated-1`.
"""

import hashlib
import json
import random
import ssl
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Self

from rerail.clock import wall_ns
from rerail.testing.ca import Leaf
from rerail.testing.connection import Connection, Request
from rerail.testing.model import chat, messages, responses
from rerail.testing.model.conversation import (
    MODEL_NAME,
    Answer,
    Asked,
    BadRequest,
    Decide,
    Policy,
    Reply,
    tokens,
)
from rerail.testing.model.exchange import (
    Refused,
    apology,
    common_headers,
    read_json,
    retry_headers,
    send_json,
)
from rerail.testing.model.improvise import improvise
from rerail.testing.origin import Origin
from rerail.testing.replies import Header, chunk, head, routes
from rerail.testing.websocket import websocket_conversation

REMEMBERED: Final = 1000
"""How many responses `previous_response_id` can go back to."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong with one model call.

    Attributes:
        status: Refuse with this status (429, 500, 529 …) instead of answering.
        retry_after: Seconds named in a refusal's `Retry-After`.
        first_byte_delay: Seconds of silence before anything is sent.
        cut_after: Reset a streamed reply after so many events.
    """

    status: int | None = None
    retry_after: float | None = None
    first_byte_delay: float = 0.0
    cut_after: int | None = None


class SimulatedModel:
    """A model server on loopback.

        with SimulatedModel(seed=7) as model:
            client = openai.OpenAI(base_url=model.url + "/v1", api_key="any")

    Args:
        policy: A function of `Asked`, or an object with `reply`; by default it improvises.
        seed: With one, the same request (asked for the n-th time) gets the same reply, ids
            included; without, every reply is drawn anew.
        chunk_pause: Seconds between two events of a stream.
        troubles: For the first calls, in order; `trouble()` adds more.
        tls: A leaf or a server context; plain HTTP where not given.
        host: A loopback address.
        port: 0 lets the system choose.
        keep: As in `Origin`: 0 for a server that runs long.
    """

    def __init__(
        self,
        policy: Policy | Decide = improvise,
        *,
        seed: int | str | None = None,
        chunk_pause: float = 0.0,
        troubles: Iterable[Trouble] = (),
        tls: Leaf | ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        keep: int = 1 << 20,
    ) -> None:
        self.asked: list[Asked] = []
        self._decide: Decide = policy if callable(policy) else policy.reply
        self._seed = seed
        self._chunk_pause = chunk_pause
        self._troubles = deque(troubles)
        self._keep = keep
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._responses: dict[str, responses.Past] = {}
        self.origin = Origin(routes(self._routes()), tls=tls, host=host, port=port, keep=keep)

    @property
    def url(self) -> str:
        """The address without a path: Anthropic's base URL; OpenAI's is this with `/v1`."""
        return self.origin.url

    @property
    def address(self) -> tuple[str, int]:
        """Host and port listened on."""
        return self.origin.address

    def trouble(self, *troubles: Trouble) -> None:
        """Let the next model calls go wrong, one each."""
        self._troubles.extend(troubles)

    def start(self) -> Self:
        """Begin to serve; `with` does it too."""
        self.origin.start()
        return self

    def close(self) -> None:
        """Stop serving."""
        self.origin.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.origin.__exit__(kind, error, trace)

    # -- the routes -----------------------------------------------------------------------------

    def _routes(self) -> dict[str, Callable[[Connection, Request], None]]:
        return {
            "POST /v1/chat/completions": self._answers(self._chat, chat.error),
            "POST /v1/responses": self._answers(self._respond, chat.error),
            "GET /v1/responses": self._converse,
            "POST /v1/messages": self._answers(self._message, messages.error),
            "POST /v1/messages/count_tokens": self._answers(self._count, messages.error),
            "GET /v1/models": self._models,
            f"GET /v1/models/{MODEL_NAME}": self._model,
        }

    def _answers(self, answer: "_Call", error: "_Refusal") -> Callable[[Connection, Request], None]:
        """Guard an API: the key, the JSON, the troubles; refusals take the API's own form."""

        def reply(connection: Connection, request: Request) -> None:
            trouble = self._troubles.popleft() if self._troubles else Trouble()
            connection.pause(trouble.first_byte_delay)
            try:
                body = read_json(request)
                if not (request.header("authorization") or request.header("x-api-key")):
                    raise Refused(401, "You didn't provide an API key.")
                if trouble.status is not None:
                    raise Refused(trouble.status, apology(trouble.status))
                answer(connection, body, trouble)
            except Refused as refused:
                refusal = error(refused.status, str(refused), None)
                send_json(connection, refused.status, refusal, retry_headers(trouble.retry_after))
            except BadRequest as bad:
                send_json(connection, 400, error(400, str(bad), bad.parameter))

        return reply

    def _chat(self, connection: Connection, body: Mapping[str, Any], trouble: Trouble) -> None:
        answer = self._answer(chat.read(body))
        if answer.asked.stream:
            self._send_stream(connection, chat.events(answer), trouble)
        else:
            send_json(connection, 200, chat.whole(answer), _openai_headers(answer))

    def _respond(self, connection: Connection, body: Mapping[str, Any], trouble: Trouble) -> None:
        answer = self._answer(responses.read(body, self._past(body)))
        document = responses.whole(answer)
        self._remember(document["id"], responses.remembered(answer, document))
        if answer.asked.stream:
            self._send_stream(connection, responses.events(answer, document), trouble)
        else:
            send_json(connection, 200, document, _openai_headers(answer))

    def _converse(self, connection: Connection, request: Request) -> None:
        """Responses over a WebSocket: each message asks for one, its events come as messages."""
        websocket_conversation(connection, request, self._say)

    def _say(self, text: str) -> Iterator[str]:
        try:
            body = json.loads(text)
            asked = responses.read(body, self._past(body))
        except (ValueError, BadRequest) as bad:
            yield responses.event_text({"type": "error", **chat.error(400, str(bad))})
            return
        silent = responses.is_prewarm(body)
        answer = self._answer(asked, decide=not silent)
        document = responses.prewarmed(answer) if silent else responses.whole(answer)
        self._remember(document["id"], responses.remembered(answer, document))
        for event in responses.event_documents(answer, document):
            yield responses.event_text(event)

    def _message(self, connection: Connection, body: Mapping[str, Any], trouble: Trouble) -> None:
        if not isinstance(body.get("max_tokens"), int):
            raise BadRequest("max_tokens: Field required", "max_tokens")
        answer = self._answer(messages.read(body))
        if answer.asked.stream:
            self._send_stream(connection, messages.events(answer), trouble)
        else:
            request_id = ("request-id", answer.identifier("req_"))
            send_json(connection, 200, messages.whole(answer), [request_id])

    def _count(self, connection: Connection, body: Mapping[str, Any], _trouble: Trouble) -> None:
        messages.read(body)
        send_json(connection, 200, {"input_tokens": tokens(json.dumps(body))})

    def _models(self, connection: Connection, request: Request) -> None:
        request.read()
        if request.header("anthropic-version"):
            listed = {"has_more": False, "first_id": MODEL_NAME, "last_id": MODEL_NAME}
            send_json(connection, 200, {"data": [_ANTHROPIC_MODEL], **listed})
        else:
            send_json(connection, 200, {"object": "list", "data": [_OPENAI_MODEL]})

    def _model(self, connection: Connection, request: Request) -> None:
        request.read()
        anthropic = request.header("anthropic-version")
        send_json(connection, 200, _ANTHROPIC_MODEL if anthropic else _OPENAI_MODEL)

    # -- one call -------------------------------------------------------------------------------

    def _answer(self, asked: Asked, *, decide: bool = True) -> Answer:
        asked = replace(asked, chance=self._chance(asked))
        if self._keep and decide:
            self.asked.append(asked)
        reply = self._decide(asked) if decide else Reply()
        return Answer(asked, reply, wall_ns() // 10**9, asked.chance)

    def _chance(self, asked: Asked) -> random.Random:
        if self._seed is None:
            return random.SystemRandom()
        text = json.dumps(asked.body, sort_keys=True)
        with self._lock:
            self._seen[text] += 1
            drawn = f"{self._seed}:{self._seen[text]}:{text}"
        digest = hashlib.sha256(drawn.encode()).digest()
        return random.Random(digest)  # noqa: S311 - a seed is meant to be repeatable

    def _past(self, body: Mapping[str, Any]) -> responses.Past:
        name = body.get("previous_response_id")
        if name is None:
            return responses.Past()
        if name not in self._responses:
            text = f"Previous response with id '{name}' not found."
            raise BadRequest(text, "previous_response_id")
        return self._responses[name]

    def _remember(self, name: str, past: responses.Past) -> None:
        with self._lock:
            self._responses[name] = past
            while len(self._responses) > REMEMBERED:
                del self._responses[next(iter(self._responses))]

    def _send_stream(
        self, connection: Connection, events: Iterator[bytes], trouble: Trouble
    ) -> None:
        kind = ("Content-Type", "text/event-stream; charset=utf-8")
        framing = [kind, ("Cache-Control", "no-cache"), ("Transfer-Encoding", "chunked")]
        connection.send(head(200, [*common_headers(), *framing]))
        for number, event in enumerate(events):
            if trouble.cut_after == number:
                # A reset may overtake what was sent; the pause lets the events arrive first.
                connection.pause(0.05)
                connection.reset()
                return
            if number and self._chunk_pause:
                connection.pause(self._chunk_pause)
            connection.send(chunk(event))
        connection.send(b"0\r\n\r\n")


_Call = Callable[[Connection, Mapping[str, Any], Trouble], None]
_Refusal = Callable[[int, str, str | None], dict[str, Any]]


def _openai_headers(answer: Answer) -> list[Header]:
    spent = str(answer.chance.randint(180, 900))
    return [("openai-processing-ms", spent), ("x-request-id", answer.identifier("req_", 32))]


_OPENAI_MODEL: Final = {
    "id": MODEL_NAME,
    "object": "model",
    "created": 1700000000,
    "owned_by": "rerail",
}
_ANTHROPIC_MODEL: Final = {
    "type": "model",
    "id": MODEL_NAME,
    "display_name": "Simulated 1",
    "created_at": "2023-11-14T00:00:00Z",
}
