"""Asks a model what to write into a file until it is done; ends well where the last is right.

`mender.py openai|anthropic|session|continued`. Every turn has its own request; the history grows.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

TASK = "Write the right word."


def with_openai() -> str:
    from openai import OpenAI

    client = OpenAI()
    function = {"name": "write", "parameters": {"type": "object", "properties": {}}}
    messages: list[Any] = [{"role": "user", "content": TASK}]
    written = ""
    while True:
        reply = client.chat.completions.create(
            model="gpt-5-mini",
            messages=messages,
            tools=[{"type": "function", "function": function}],
        )
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            written = write(json.loads(call.function.arguments)["text"])
            told = {"role": "tool", "tool_call_id": call.id, "content": f"wrote {written}"}
            messages.append(told)
        if not message.tool_calls:
            return written


def with_anthropic() -> str:
    from anthropic import Anthropic

    client = Anthropic()
    messages: list[Any] = [{"role": "user", "content": TASK}]
    written = ""
    while True:
        with client.messages.stream(
            model="claude-sonnet-5",
            max_tokens=1000,
            messages=messages,
            tools=[{"name": "write", "input_schema": {"type": "object"}}],
        ) as stream:
            message = stream.get_final_message()
        messages.append({"role": "assistant", "content": message.model_dump()["content"]})
        results = []
        for block in message.content:
            if block.type == "tool_use":
                written = write(block.input["text"])
                result = {"type": "tool_result", "tool_use_id": block.id}
                results.append({**result, "content": f"wrote {written}"})
        if not results:
            return written
        messages.append({"role": "user", "content": results})


def with_session() -> str:
    """OpenAI's responses on a WebSocket, each of which continues the last."""
    from websockets.sync.client import connect

    tools = [{"type": "function", "name": "write", "parameters": {"type": "object"}}]
    written = ""

    def asked(given: list[Any], **more: Any) -> dict[str, Any]:
        request = {"type": "response.create", "model": "gpt-5-mini", "tools": tools, "input": given}
        socket.send(json.dumps({**request, **more}))
        while True:
            event = json.loads(socket.recv())
            if event["type"] == "error":
                sys.exit(f"the model refused: {event['error']['message']}")
            if event["type"] == "response.completed":
                return dict(event["response"])

    with connect("wss://api.openai.com/v1/responses") as socket:
        last = asked([], generate=False)
        given: list[Any] = [{"type": "message", "role": "user", "content": TASK}]
        while given:
            last = asked(given, previous_response_id=last["id"])
            calls = [item for item in last["output"] if item["type"] == "function_call"]
            given = []
            for call in calls:
                written = write(json.loads(call["arguments"])["text"])
                told = {"type": "function_call_output", "call_id": call["call_id"]}
                given.append({**told, "output": f"wrote {written}"})
    return written


def with_continued() -> str:
    """OpenAI's responses over HTTP, each of which continues the last."""
    from openai import OpenAI

    client = OpenAI()
    tools: list[Any] = [{"type": "function", "name": "write", "parameters": {"type": "object"}}]
    written = ""
    given: list[Any] = [{"role": "user", "content": TASK}]
    more: dict[str, Any] = {}
    while given:
        last = client.responses.create(
            model="gpt-5-mini", input=given, tools=tools, store=False, **more
        )
        more = {"previous_response_id": last.id}
        given = []
        for item in last.output:
            if item.type == "function_call":
                written = write(json.loads(item.arguments)["text"])
                told = {"type": "function_call_output", "call_id": item.call_id}
                given.append({**told, "output": f"wrote {written}"})
    return written


def write(text: str) -> str:
    Path("word.txt").write_text(text)
    return text


Path("mood.txt").write_text(os.environ.get("MOOD", ""))
KINDS = {
    "openai": with_openai,
    "anthropic": with_anthropic,
    "session": with_session,
    "continued": with_continued,
}
last = KINDS[sys.argv[1]]()
print("the last word is", last, flush=True)
print("the mood is", Path("mood.txt").read_text(), flush=True)
sys.exit(0 if last == "right" else 1)
