"""Asks a model what to write into a file until it is done; ends well where the last is right.

`mender.py openai|anthropic`. Every turn has its own request; the history grows.
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


def write(text: str) -> str:
    Path("word.txt").write_text(text)
    return text


Path("mood.txt").write_text(os.environ.get("MOOD", ""))
last = with_openai() if sys.argv[1] == "openai" else with_anthropic()
print("the last word is", last, flush=True)
print("the mood is", Path("mood.txt").read_text(), flush=True)
sys.exit(0 if last == "right" else 1)
