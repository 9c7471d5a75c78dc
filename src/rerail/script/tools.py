"""What a script can call: functions of the host, by name, and whether they may be called again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    `key` is the same whenever this call is made again (run, pause, call), and nobody else's: give
    it to a service that takes an idempotency key. `attempt` counts from 1. What the tool asks of
    others it may put on the run's tape with `recorder`.
    """

    name: str
    arguments: dict[str, Any]
    key: str
    pause: int
    attempt: int
    recorder: "Recorder"


Tool = Callable[[Call], object]
"""Takes the call and returns a JSON value; an error that it raises is raised in the script."""


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A tool that may be called again where it is not known whether it ran."""

    tool: Tool

    def __call__(self, call: Call) -> object:
        return self.tool(call)


def repeatable(tool: Tool) -> Repeatable:
    """Mark a tool as safe to repeat: one that only reads, or asks a model."""
    return Repeatable(tool)


Tools = Mapping[str, Tool]


def names_of_repeatable(tools: Tools) -> list[str]:
    """Those of the tools that may be called again."""
    return sorted(name for name, tool in tools.items() if isinstance(tool, Repeatable))
