"""An agent on the Anthropic SDK: plain, streamed, a tool call and its answer, four at once.

`anthropic_agent.py sync|async` runs the same turns in either way.
"""

import asyncio
import hashlib
import json
import sys

import anthropic

ASKED = {"model": "claude-sonnet-4-5", "max_tokens": 500}
TOOL = {
    "name": "weigh",
    "description": "Weigh a thing.",
    "input_schema": {"type": "object", "properties": {"thing": {"type": "string"}}},
}


def user(text):
    return [{"role": "user", "content": text}]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def answered(message):
    """The history with the model's tool calls answered."""
    results = []
    for block in message.content:
        if block.type == "tool_use":
            text = json.dumps(block.input, sort_keys=True).encode()
            weight = hashlib.sha256(text).hexdigest()[:8]
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": weight})
    said = [block.model_dump(exclude_none=True) for block in message.content]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": results}]


def sync():
    with anthropic.Anthropic() as client:
        create = client.messages.create
        first = create(messages=user("plain"), **ASKED)
        print(first.id, text_of(first))
        with client.messages.stream(messages=user("streamed"), **ASKED) as stream:
            print("|".join(stream.text_stream))
        messages = user("how heavy is it?")
        messages += answered(create(messages=messages, tools=[TOOL], **ASKED))
        print(text_of(create(messages=messages, tools=[TOOL], **ASKED)))


async def at_once():
    async with anthropic.AsyncAnthropic() as client:
        create = client.messages.create
        print(text_of(await create(messages=user("plain"), **ASKED)))
        async with client.messages.stream(messages=user("streamed"), **ASKED) as stream:
            print("|".join([text async for text in stream.text_stream]))
        messages = user("how heavy is it?")
        messages += answered(await create(messages=messages, tools=[TOOL], **ASKED))
        print(text_of(await create(messages=messages, tools=[TOOL], **ASKED)))
        different = [create(messages=user(f"number {n}"), **ASKED) for n in range(4)]
        for reply in await asyncio.gather(*different):
            print(text_of(reply))


if sys.argv[1] == "sync":
    sync()
else:
    asyncio.run(at_once())
