"""A loop on openai's client under an instrumentation, exported as OTLP JSON: TASK FILE WHICH."""

import json
import os
import sys

import openai
from opentelemetry import _logs, trace
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tools_at_hand import bash, edit, read_file

task, file, which = sys.argv[1:]
provider = TracerProvider(resource=Resource({"service.name": "clerk"}))
provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(file)))
trace.set_tracer_provider(provider)
logs = LoggerProvider(resource=provider.resource)
if which == "opentelemetry":
    # It tells of messages in log events: they go into the same file.
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    logs.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(file)))
    _logs.set_logger_provider(logs)
if which.startswith("opentelemetry"):
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
elif which == "openinference":
    from openinference.instrumentation.openai import OpenAIInstrumentor
else:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
OpenAIInstrumentor().instrument()


def schema(function: object, *names: str) -> dict[str, object]:
    parameters = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }
    return {
        "type": "function",
        "function": {
            "name": function.__name__,
            "description": function.__doc__,
            "parameters": parameters,
        },
    }


tools = [
    schema(read_file, "file_path"),
    schema(edit, "file_path", "old_string", "new_string"),
    schema(bash, "command"),
]
functions = {"read_file": read_file, "edit": edit, "bash": bash}
messages = [
    {"role": "system", "content": "You look after files."},
    {"role": "user", "content": task},
]
client = openai.OpenAI(max_retries=0)
tracer = trace.get_tracer("clerk")
with tracer.start_as_current_span("errand"):
    while True:
        reply = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            print(message.content)
            break
        for call in message.tool_calls:
            try:
                told = functions[call.function.name](**json.loads(call.function.arguments))
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
provider.shutdown()
logs.shutdown()
