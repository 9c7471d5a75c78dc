"""An agent on the OpenAI SDK: plain, streamed, a tool call and its answer, four at once.

`openai_agent.py sync|async` runs the same turns in either way. Everything the model says is random,
and what it says decides what is asked next.
"""

import asyncio
import hashlib
import json
import sys

import openai

MODEL = "gpt-4.1-mini"
TOOL = {
    "type": "function",
    "function": {
        "name": "weigh",
        "description": "Weigh a thing.",
        "parameters": {
            "type": "object",
            "properties": {"thing": {"type": "string"}, "count": {"type": "integer"}},
        },
    },
}


def user(text):
    return [{"role": "user", "content": text}]


def streamed(chunks):
    return "|".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def weigh(call):
    """What the tool says depends on the arguments that the model drew."""
    arguments = json.loads(call.function.arguments)
    text = hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()[:8]
    return {"role": "tool", "tool_call_id": call.id, "content": f"{arguments} weighs {text}"}


def sync():
    with openai.OpenAI() as client:
        create = client.chat.completions.create
        first = create(model=MODEL, messages=user("plain"))
        print(first.id, first.choices[0].message.content)
        print(streamed(create(model=MODEL, messages=user("streamed"), stream=True)))
        messages = user("how heavy is it?")
        asked = create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        messages += [asked.model_dump(exclude_none=True), *map(weigh, asked.tool_calls)]
        print(create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message.content)
        answer = client.responses.create(model=MODEL, input="a response")
        print(answer.id, answer.output_text)
        with client.responses.stream(model=MODEL, input="another") as stream:
            print("|".join(event.delta for event in stream if event.type.endswith("text.delta")))


async def at_once():
    async with openai.AsyncOpenAI() as client:
        create = client.chat.completions.create
        print((await create(model=MODEL, messages=user("plain"))).choices[0].message.content)
        stream = await create(model=MODEL, messages=user("streamed"), stream=True)
        print(streamed([chunk async for chunk in stream]))
        messages = user("how heavy is it?")
        asked = (await create(model=MODEL, messages=messages, tools=[TOOL])).choices[0].message
        messages += [asked.model_dump(exclude_none=True), *map(weigh, asked.tool_calls)]
        answer = await create(model=MODEL, messages=messages, tools=[TOOL])
        print(answer.choices[0].message.content)
        different = [create(model=MODEL, messages=user(f"number {n}")) for n in range(4)]
        for reply in await asyncio.gather(*different):
            print(reply.choices[0].message.content)
        same = [create(model=MODEL, messages=user("the same")) for _ in range(4)]
        print(sorted(reply.id for reply in await asyncio.gather(*same)))


if sys.argv[1] == "sync":
    sync()
else:
    asyncio.run(at_once())
