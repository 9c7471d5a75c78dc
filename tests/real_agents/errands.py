"""What agents do here so that their own files hold what can happen: a command fails, a sub-agent is
sent, the model refuses. It knows each agent's names for its tools, and nothing of rerail.
"""

from collections.abc import Sequence
from typing import Final

from rerail.testing.model.conversation import Asked, Reply, Tool, ToolCall
from tests.real_agents.chores import SHELLS, TASK, Chores

FAILING: Final = "ls nowhere"
COUNT: Final = "COUNT THE LINES of notes.txt"
_SENDERS: Final = ("Agent", "agent")
_ENDERS: Final = ("submit",)


class Errands(Chores):
    """A command that fails, then the chores, then a sub-agent where there are any."""

    def reply(self, asked: Asked) -> Reply:
        """The next of them."""
        done = sum(message.role == "tool" for message in asked.messages)
        words = " ".join(message.text for message in asked.messages if message.role == "user")
        if asked.tools and COUNT in words and TASK not in words:
            return self._counted(asked.tools, done)
        return super().reply(asked)

    def _counted(self, tools: Sequence[Tool], done: int) -> Reply:
        """What a sub-agent says."""
        shell = _named(tools, tuple(SHELLS))
        if done or not shell:
            return Reply("Two lines.")
        return Reply("", (ToolCall(shell, SHELLS[shell]("wc -l notes.txt")),))

    def _chores(self, tools: Sequence[Tool]) -> list[ToolCall]:
        shell = _named(tools, tuple(SHELLS))
        failing = [ToolCall(shell, SHELLS[shell](FAILING))] if shell else []
        sending = [
            ToolCall(name, {"description": "Count lines", "prompt": COUNT, **_KIND})
            for name in _SENDERS
            if _named(tools, (name,))
        ]
        ending = [ToolCall(name, {"answer": "final"}) for name in _ENDERS if _named(tools, (name,))]
        return [*failing, *super()._chores(tools), *sending, *ending]


_KIND: Final = {"subagent_type": "general-purpose"}


def _named(tools: Sequence[Tool], names: Sequence[str]) -> str:
    offered = {tool.name for tool in tools}
    return next((name for name in names if name in offered), "")
