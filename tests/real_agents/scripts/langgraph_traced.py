"""An agent on langgraph, traced: TASK FILE HOW, by LangSmith's client or OpenInference."""

import json
import os
import sys
from pathlib import Path

from receiver import Receiver, runs
from tools_at_hand import bash, edit, read_file

task, file, how = sys.argv[1:]
receiver = Receiver()
if how == "langsmith":
    os.environ |= {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": receiver.url,
        "LANGSMITH_API_KEY": "none",
        "LANGSMITH_PROJECT": "desk",
    }
else:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(file)))
    trace.set_tracer_provider(provider)
    if how == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor
    else:
        from opentelemetry.instrumentation.langchain import (
            LangchainInstrumentor as LangChainInstrumentor,
        )
    LangChainInstrumentor().instrument()

from langchain.agents import create_agent  # noqa: E402
from langchain.agents.middleware import wrap_tool_call  # noqa: E402
from langchain_core.messages import ToolMessage  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402


@wrap_tool_call
def told(request, handler):
    """A tool's failure is told to the model."""
    try:
        return handler(request)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return ToolMessage(words, tool_call_id=request.tool_call["id"], status="error")


agent = create_agent(
    ChatOpenAI(model="gpt-5-mini"),
    tools=[read_file, edit, bash],
    system_prompt="You look after files.",
    middleware=[told],
)
result = agent.invoke({"messages": [{"role": "user", "content": task}]})
print(result["messages"][-1].content)
if how == "langsmith":
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
    Path(file).write_text("".join(json.dumps(run) + "\n" for run in runs(receiver.bodies)))
