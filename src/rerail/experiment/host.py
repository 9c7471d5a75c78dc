"""What answers an experiment's agent: its model, the task's check, and at the end the verdict.

Each is safe to call again after a crash: a model asked twice costs tokens, and they are counted.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from rerail.experiment.model import Asker
from rerail.experiment.plan import Key, model_seed
from rerail.experiment.schedule import Stopped
from rerail.experiment.task import Task
from rerail.script.tools import Call, Tools, repeatable

THINK: Final = "think"
CHECK: Final = "check"
VERDICT: Final = "verdict"


class Host(Struct, frozen=True, kw_only=True):
    """The tools of one run.

    `limit` is the agent's turn at which it has no more; `note` the hint that the answer to pause
    `note_at` carries, if any. Once `stop` is set, the model is asked no more.
    """

    key: Key
    task: Task
    asker: Asker
    limit: int
    stop: threading.Event
    note: str = ""
    note_at: int = 0

    def tools(self) -> Tools:
        """By name, for the script."""
        return {
            THINK: repeatable(self.think),
            CHECK: repeatable(self.check),
            VERDICT: repeatable(self.verdict),
        }

    def think(self, call: Call) -> dict[str, Any]:
        """The model's next words; none once the turns are used up."""
        if self.stop.is_set():
            raise Stopped
        turn, history = call.arguments["turn"], call.arguments["history"]
        noted = {"note": self.note} if self.note and call.pause == self.note_at else {}
        if turn >= self.limit:
            return noted
        said = self.asker.answer(
            [*history, *({"role": "user", "content": note} for note in noted.values())],
            seed=model_seed(self.key, turn),
            actions=self.task.actions(turn),
            recorder=call.recorder,
        )
        assert said.message is not None
        return {**noted, "content": said.message.text}

    def check(self, call: Call) -> dict[str, Any]:
        """What the agent is told is wrong with its files."""
        return {"errors": self.task.check(_files(call))}

    def verdict(self, call: Call) -> dict[str, Any]:
        """Whether its files pass; the agent is not told."""
        verdict = self.task.judge(_files(call))
        return asdict(verdict)


def _files(call: Call) -> Mapping[str, str]:
    files: dict[str, str] = call.arguments["files"]
    return files
