"""Rewinds on APIs that the simulated model does not speak: an origin that answers in their form."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.connection import Connection, Request
from rerail.testing.origin import Origin
from rerail.testing.replies import document, serve
from tests.journeys.rail import Rail
from tests.llm.test_hint import CHECKS, HISTORIES

pytestmark = pytest.mark.journey

HINT = "The word is: right."
TURNS = 3
HOSTS = {"gemini": "generativelanguage.googleapis.com", "ollama": "ollama.example.com"}
APIS = {"gemini": "gemini.generate_content", "ollama": "ollama.chat"}


class PlainModel:
    """Writes a wrong word in each of its turns, until it is told better."""

    def __init__(self, api: str) -> None:
        self._api = api
        self.histories: list[list[Any]] = []

    def reply(self, connection: Connection, request: Request) -> None:
        history = json.loads(request.read())[HISTORIES[APIS[self._api]][0]]
        self.histories.append(history)
        results = json.dumps(history).count("wrote ")
        text = "right" if HINT in json.dumps(history) else "wrong"
        answer = self._gemini if self._api == "gemini" else self._ollama
        document(answer(text if results < TURNS else ""))(connection, request)

    def _gemini(self, text: str) -> dict[str, Any]:
        call = {"functionCall": {"name": "write", "args": {"text": text}}}
        parts = [call if text else {"text": "I am done."}]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}

    def _ollama(self, text: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "" if text else "I am done."}
        if text:
            message["tool_calls"] = [{"function": {"name": "write", "arguments": {"text": text}}}]
        return {"model": "m", "message": message, "done": True}


@pytest.mark.parametrize("how", ["hint", "answer"])
@pytest.mark.parametrize("api", HOSTS)
def test_a_failed_run_is_rewound_and_ends_well(
    rail: Rail,
    api: str,
    how: str,
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
) -> None:
    model = PlainModel(api)
    origin = start_origin(serve(model.reply), tls=authority.leaf(HOSTS[api]))
    rail.resolve(HOSTS[api], origin)
    recorded = rail.record(*rail.python("plain_mender.py", api))
    assert (recorded.status, len(model.histories)) == (1, TURNS + 1), recorded.said
    given = HINT if how == "hint" else json.dumps({"write": f"wrote it; {HINT}"})
    words = [*rail.names, str(recorded.tape), "--to", "3", f"--{how}", given]
    ran = rail.run(*rail.rerail("rewind", *words))
    assert ran.status == 0, ran.said
    live = model.histories[TURNS + 1 :]
    assert len(live) == TURNS + 1 - 2
    for history in live:
        CHECKS[APIS[api]](history)
        assert json.dumps(history).count(HINT) == 1
        assert history[: len(live[0])] == live[0]
    assert HINT in json.dumps(live[0][-1])
    rail.stop_origins()
    replayed = rail.replay(rail.folder / "run.s3.tape")
    assert replayed.green, replayed.said
    assert rail.reached == 0
