"""The simulated model under the real `openai` package."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import openai
import pydantic
import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.model import MODEL_NAME, Asked, Reply, SimulatedModel, ToolCall, Trouble

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
}
FLAT: Any = {"type": "function", "strict": False, **WEATHER["function"]}
SAY: Any = [{"role": "user", "content": "Say something."}]


def decide(asked: Asked) -> Reply:
    """Look the weather up once, then tell it."""
    results = asked.results("weather")
    if asked.tools and not results:
        return Reply("Let me see.", [ToolCall("weather", {"days": 2, "place": "Köln"})])
    return Reply(f"It said {results[-1]}." if results else "Hello from nowhere – really.")


@pytest.fixture
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel(decide) as server:
        yield server


@pytest.fixture
def client(model: SimulatedModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.url + "/v1", api_key="sk-test") as made:
        yield made


def test_a_chat_reply_says_simulated_whatever_was_asked(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="gpt-4.1", messages=SAY)
    assert reply.model == MODEL_NAME
    assert "simulated" in reply.model
    assert reply.choices[0].message.content == "Hello from nowhere – really."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_chat_stream_adds_up_to_the_text(client: openai.OpenAI) -> None:
    with client.chat.completions.create(
        model="gpt-4.1", messages=SAY, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Hello from nowhere – really."
    assert len(chunks) > 5
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage is not None
    assert chunks[-2].choices[0].finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_tool_call_and_its_result_make_a_turn(client: openai.OpenAI, stream: bool) -> None:
    messages: Any = [{"role": "user", "content": "The weather?"}]
    if stream:
        with client.chat.completions.stream(
            model="gpt-4.1", messages=messages, tools=[WEATHER]
        ) as events:
            message: Any = events.get_final_completion().choices[0].message
    else:
        made = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
        message = made.choices[0].message
    (call,) = message.tool_calls
    assert message.content == "Let me see."
    assert call.function.name == "weather"
    assert call.function.arguments == '{"days":2,"place":"Köln"}'
    told = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    history = [*messages, message.model_dump(exclude_none=True), told]
    reply = client.chat.completions.create(model="gpt-4.1", messages=history, tools=[WEATHER])
    assert reply.choices[0].message.content == "It said rain."


class Verdict(pydantic.BaseModel):
    fixed: bool
    reason: str
    score: int | None


def test_a_json_schema_is_followed() -> None:
    with (
        SimulatedModel() as model,
        openai.OpenAI(base_url=model.url + "/v1", api_key="k") as client,
    ):
        chat = client.chat.completions.parse(model="gpt-4.1", messages=SAY, response_format=Verdict)
        assert isinstance(chat.choices[0].message.parsed, Verdict)
        response = client.responses.parse(model="gpt-4.1", input="Well?", text_format=Verdict)
        assert isinstance(response.output_parsed, Verdict)


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_with_a_tool_call_is_continued_by_its_id(
    client: openai.OpenAI, stream: bool
) -> None:
    if stream:
        with client.responses.stream(model="gpt-4.1", input="Weather?", tools=[FLAT]) as events:
            kinds = [event.type for event in events]
            response: Any = events.get_final_response()
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"
        assert "response.function_call_arguments.delta" in kinds
    else:
        response = client.responses.create(model="gpt-4.1", input="Weather?", tools=[FLAT])
    assert response.model == MODEL_NAME
    assert response.output_text == "Let me see."
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"days": 2, "place": "Köln"}
    told: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "snow"}
    reply = client.responses.create(
        model="gpt-4.1", input=[told], tools=[FLAT], previous_response_id=response.id
    )
    assert reply.output_text == "It said snow."


def test_a_response_takes_its_whole_history_as_items(
    model: SimulatedModel, client: openai.OpenAI
) -> None:
    items: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "hail"},
    ]
    reply = client.responses.create(model="m", instructions="Now.", input=items, tools=[FLAT])
    assert reply.output_text == "It said hail."
    roles = [message.role for message in model.asked[0].messages]
    assert roles == ["system", "system", "user", "assistant", "tool"]


def test_a_response_that_is_not_known_cannot_be_continued(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(model="m", input="x", previous_response_id="resp_nowhere")


def test_four_async_streams_run_at_once() -> None:
    async def one(client: openai.AsyncOpenAI, number: int) -> str:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": f"number {number}"}], stream=True
        )
        parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
        return "".join(parts)

    async def all_of(url: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=url, api_key="k") as client:
            return await asyncio.gather(*(one(client, number) for number in range(4)))

    with SimulatedModel(chunk_pause=0.001) as model:
        texts = asyncio.run(all_of(model.url + "/v1"))
    assert [f"number {number}" in text for number, text in enumerate(texts)] == [True] * 4


def test_a_429_is_retried_with_the_pause_that_it_names(
    model: SimulatedModel, client: openai.OpenAI
) -> None:
    model.trouble(Trouble(status=429, retry_after=0.01))
    reply = client.chat.completions.create(model="m", messages=SAY)
    assert reply.choices[0].message.content
    counts = [request.header("x-stainless-retry-count") for request in model.origin.requests]
    assert counts == ["0", "1"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.APIError)],
)
def test_a_refusal_is_the_sdks_own_error(
    model: SimulatedModel, client: openai.OpenAI, status: int, kind: type[Exception]
) -> None:
    model.trouble(Trouble(status=status))
    with pytest.raises(kind):
        client.with_options(max_retries=0).chat.completions.create(model="m", messages=SAY)


def test_a_stream_that_is_cut_fails_after_what_came(
    model: SimulatedModel, client: openai.OpenAI
) -> None:
    model.trouble(Trouble(cut_after=3))
    seen = []
    with (
        client.chat.completions.create(model="m", messages=SAY, stream=True) as stream,
        pytest.raises(openai.APIConnectionError),
    ):
        for chunk in stream:
            seen.append(chunk)  # noqa: PERF402 - what came before the error is what counts
    assert len(seen) == 3


def test_a_slow_first_byte_is_slow(model: SimulatedModel, client: openai.OpenAI) -> None:
    model.trouble(Trouble(first_byte_delay=0.05))
    began = model.origin.clock.at()
    client.chat.completions.create(model="m", messages=SAY)
    assert model.origin.clock.at() - began >= 50_000_000


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    assert [entry.id for entry in client.models.list()] == [MODEL_NAME]
    assert client.models.retrieve(MODEL_NAME).owned_by == "rerail"


def test_it_serves_tls_under_the_real_name(authority: CertificateAuthority) -> None:
    with SimulatedModel(tls=authority.leaf("127.0.0.1")) as model:
        assert model.url.startswith("https://")
        http = openai.DefaultHttpxClient(verify=authority.client_context())
        with openai.OpenAI(base_url=model.url + "/v1", api_key="k", http_client=http) as client:
            assert client.chat.completions.create(model="m", messages=SAY).model == MODEL_NAME
