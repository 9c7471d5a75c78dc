"""A simulated model server: OpenAI chat and responses, Anthropic messages, streaming, tool calls.

It stands in for a model in demos and tests, on loopback, with or without TLS, and says in every
reply that it is simulated.
"""

from rerail.testing.model.conversation import (
    MODEL_NAME,
    Asked,
    Message,
    Policy,
    Reply,
    Tool,
    ToolCall,
)
from rerail.testing.model.improvise import improvise, sample, shuffled
from rerail.testing.model.server import SimulatedModel, Trouble

__all__ = [
    "MODEL_NAME",
    "Asked",
    "Message",
    "Policy",
    "Reply",
    "SimulatedModel",
    "Tool",
    "ToolCall",
    "Trouble",
    "improvise",
    "sample",
    "shuffled",
]
