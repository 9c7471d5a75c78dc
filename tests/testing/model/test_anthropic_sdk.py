"""The simulated model under the real `anthropic` package."""

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from rerail.testing.model import MODEL_NAME, Asked, Reply, SimulatedModel, ToolCall, Trouble

WEATHER: Any = {
    "name": "weather",
    "description": "The weather in a place.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
}
ASK: Any = [{"role": "user", "content": "The weather?"}]


def decide(asked: Asked) -> Reply:
    """Look the weather up once, then tell it."""
    results = asked.results("weather")
    if asked.tools and not results:
        return Reply("Let me see.", [ToolCall("weather", {"place": "Köln", "days": 2})])
    return Reply(f"It said {results[-1]}." if results else "Nothing to tell.")


@pytest.fixture
def model() -> Iterator[SimulatedModel]:
    with SimulatedModel(decide) as server:
        yield server


@pytest.fixture
def client(model: SimulatedModel) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=model.url, api_key="key") as made:
        yield made


def test_a_message_says_simulated_whatever_was_asked(client: anthropic.Anthropic) -> None:
    reply = client.messages.create(model="claude-of-tomorrow", max_tokens=50, messages=ASK)
    assert reply.model == MODEL_NAME
    assert reply.stop_reason == "end_turn"
    assert [block.text for block in reply.content if block.type == "text"] == ["Nothing to tell."]


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_and_its_result_make_a_turn(client: anthropic.Anthropic, stream: bool) -> None:
    if stream:
        with client.messages.stream(
            model="m", max_tokens=50, messages=ASK, tools=[WEATHER]
        ) as events:
            kinds = [event.type for event in events]
            message = events.get_final_message()
        assert kinds[0] == "message_start"
        assert kinds[-1] == "message_stop"
    else:
        message = client.messages.create(
            model="m", max_tokens=50, messages=ASK, tools=[WEATHER], system="Be brief."
        )
    assert message.stop_reason == "tool_use"
    text, call = message.content
    assert text.type == "text"
    assert text.text == "Let me see."
    assert call.type == "tool_use"
    assert call.input == {"place": "Köln", "days": 2}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    history: Any = [
        *ASK,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result, {"type": "text", "text": "So?"}]},
    ]
    reply = client.messages.create(model="m", max_tokens=50, messages=history, tools=[WEATHER])
    (block,) = reply.content
    assert block.type == "text"
    assert block.text == "It said rain."


def test_the_system_prompt_comes_first(model: SimulatedModel, client: anthropic.Anthropic) -> None:
    system: Any = [{"type": "text", "text": "Be brief."}]
    client.messages.create(model="m", max_tokens=9, messages=ASK, system=system)
    assert [(entry.role, entry.text) for entry in model.asked[0].messages] == [
        ("system", "Be brief."),
        ("user", "The weather?"),
    ]


def test_four_async_calls_run_at_once() -> None:
    async def one(client: anthropic.AsyncAnthropic, number: int) -> str:
        message: Any = [{"role": "user", "content": f"number {number}"}]
        async with client.messages.stream(model="m", max_tokens=50, messages=message) as stream:
            return await stream.get_final_text()

    async def all_of(url: str) -> list[str]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
            return await asyncio.gather(*(one(client, number) for number in range(4)))

    with SimulatedModel() as model:
        texts = asyncio.run(all_of(model.url))
    assert [f"number {number}" in text for number, text in enumerate(texts)] == [True] * 4


def test_an_overload_is_retried(model: SimulatedModel, client: anthropic.Anthropic) -> None:
    model.trouble(Trouble(status=529, retry_after=0.01))
    assert client.messages.create(model="m", max_tokens=9, messages=ASK).content


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ],
)
def test_a_refusal_is_the_sdks_own_error(
    model: SimulatedModel, client: anthropic.Anthropic, status: int, kind: type[Exception]
) -> None:
    model.trouble(Trouble(status=status))
    with pytest.raises(kind):
        client.with_options(max_retries=0).messages.create(model="m", max_tokens=9, messages=ASK)


def test_tokens_are_counted_and_models_listed(client: anthropic.Anthropic) -> None:
    assert client.messages.count_tokens(model="m", messages=ASK).input_tokens > 5
    assert [entry.id for entry in client.models.list()] == [MODEL_NAME]
