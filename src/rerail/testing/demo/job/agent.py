"""A small agent: reads a support ticket, finds its customer, files it there, writes a report.

Nothing in it knows that it is recorded: the OpenAI SDK, tools over HTTPS, one written file.
"""

import argparse
import json
import os
import textwrap
from pathlib import Path

import openai

import tools

MODEL = os.environ.get("AGENT_MODEL", "gpt-4.1-mini")
SYSTEM = "You file support tickets under the customers that they came from. Use the tools."
REPORT = "Now write the report: one sentence on the problem, one on where the ticket was filed."


def ask(client, messages, offered):
    """One model call, shown as it streams in; returns the assistant's message."""
    text, calls = "", {}
    for chunk in client.chat.completions.create(
        model=MODEL, messages=messages, stream=True, **offered
    ):
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(part.index, new_call(part.id, part.function.name))
                call["function"]["arguments"] += part.function.arguments or ""
    if "response_format" in offered:
        name = offered["response_format"]["json_schema"]["name"]
        calls[0] = new_call(f"call_{name}", name, text)
        print()
    if calls:
        return {"role": "assistant", "content": None, "tool_calls": list(calls.values())}
    return {"role": "assistant", "content": text}


def new_call(call_id, name, arguments=""):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="1841", help="the ticket to file")
    parser.add_argument("--rule", default="rule.txt", help="what the model is told before it files")
    parser.add_argument("--by-schema", action="store_true", help="for a model that knows no tools")
    options = parser.parse_args()
    said_after = {"get_customer": Path(options.rule).read_text().strip(), "file_ticket": REPORT}
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"File ticket {options.task} under the right customer."},
    ]
    with openai.OpenAI() as client:
        for turn in range(1, 9):
            print(f"turn {turn}: ", end="")
            try:
                message = ask(client, messages, tools.offer(turn, options.by_schema))
            except openai.APIStatusError as refused:
                raise SystemExit(f"the model's service refused: {refused.message}") from refused
            messages.append(message)
            if "tool_calls" not in message:
                print()
                report = f"# Ticket {options.task}\n\n{message['content']}\n"
                return Path("report.md").write_text(report)
            for call in message["tool_calls"]:
                name = call["function"]["name"]
                arguments = json.loads(call["function"]["arguments"])
                result = tools.use(name, arguments, options.task)
                shown = textwrap.shorten(result, 66, placeholder=" …")
                print(f"{name} {arguments}\n        -> {shown}")
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
                if name in said_after:
                    messages.append({"role": "user", "content": said_after[name]})
    raise SystemExit("eight turns and no report")


if __name__ == "__main__":
    main()
