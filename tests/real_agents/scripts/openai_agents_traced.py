"""An agent on openai-agents, traced by the SDK's own exporter: TASK FILE API, chat or responses."""

import sys
from pathlib import Path

from agents import Agent, Runner, function_tool, set_default_openai_api, set_trace_processors
from agents.tracing import trace
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from receiver import Receiver
from tools_at_hand import bash, edit, read_file

task, file, api = sys.argv[1:]
receiver = Receiver()
processor = BatchTraceProcessor(BackendSpanExporter(endpoint=receiver.url))
set_trace_processors([processor])
set_default_openai_api(api)
tools = [function_tool(tool) for tool in (read_file, edit, bash)]
agent = Agent(name="Clerk", instructions="You look after files.", tools=tools, model="gpt-5-mini")
with trace("Notes", group_id="desk"):
    print(Runner.run_sync(agent, task).final_output)
processor.shutdown()
Path(file).write_bytes(b"\n".join(body for _, body in receiver.bodies) + b"\n")
