"""A policy for the simulated model that works at an experiment's tasks, and sometimes repairs them.

It reads, checks and writes as models do that are short of turns: the reading comes first, and a
hint makes a repair likelier. How likely is its own number, not a model's. It knows the repairs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rerail.experiment.plan import all_tasks
from rerail.experiment.sums import QUESTIONS, Sums
from rerail.experiment.task import Files, Task
from rerail.testing.model.conversation import Asked, Reply

SKILL: Final = 0.45
SKILL_WITH_HINT: Final = 0.9
READS_FIRST: Final = 0.8
CHECKS_NEXT: Final = 0.85
CHEATS: Final = 0.01

Repairs = Callable[[Task], Files]


def repaired(task: Task) -> Files:
    """What a task's files are once they are right: those that must change."""
    if isinstance(task, Sums):
        return {path: str(a + b) for path, (a, b) in task.sums.items()}
    raise LookupError(task.name)


class Repairer:
    """Plays an agent's model, one turn at a time, out of the history alone."""

    def __init__(self, tasks: Sequence[Task] | None = None, repairs: Repairs = repaired) -> None:
        self._tasks = list(all_tasks() if tasks is None else tasks)
        self._repairs = repairs

    def __call__(self, asked: Asked) -> Reply:
        """The next action, as the one JSON object that the agent asks for."""
        task = self._task(asked)
        return Reply(json.dumps(self._action(asked, task), ensure_ascii=False))

    def _task(self, asked: Asked) -> Task:
        """The one whose words are in the history; a longer prompt is the better match."""
        said = "\n".join(message.text for message in asked.messages if message.role == "user")
        named = [task for task in self._tasks if task.prompt in said]
        return max(named, key=lambda task: len(task.prompt), default=self._tasks[0])

    def _action(self, asked: Asked, task: Task) -> Mapping[str, str]:
        chance, past = asked.chance, _Past(asked)
        unread = [path for path in task.files if path not in past.known]
        if unread and chance.random() < READS_FIRST:
            return {"tool": "read", "path": unread[0]}
        if past.said == "nothing is wrong":
            return {"tool": "done"}
        if not past.checked and chance.random() < CHECKS_NEXT:
            return {"tool": "check"}
        if isinstance(task, Sums) and chance.random() < CHEATS:
            return {"tool": "write", "path": QUESTIONS, "content": ""}
        return self._write(asked, task, past)

    def _write(self, asked: Asked, task: Task, past: "_Past") -> Mapping[str, str]:
        right = self._repairs(task)
        wrong = [path for path in right if past.written.get(path) != right[path]]
        named = [path for path in right if path in past.said]
        path = asked.chance.choice(wrong or named or sorted(right))
        hinted = any("Hint: " in m.text for m in asked.messages if m.role == "user")
        able = asked.chance.random() < (SKILL_WITH_HINT if hinted else SKILL)
        content = right[path] if able else _botched(task, path, asked)
        return {"tool": "write", "path": path, "content": content}


class _Past:
    """What a history holds: files seen, files written, and what the last check said."""

    def __init__(self, asked: Asked) -> None:
        self.known: set[str] = set()
        self.written: dict[str, str] = {}
        self.checked = False
        self.said = ""
        said = [(message.role, message.text) for message in asked.messages]
        for (role, text), (_, answer) in zip(said, [*said[1:], ("user", "")], strict=True):
            if role == "assistant":
                self._take(_loaded(text), answer.partition("\n\nA person looked")[0])

    def _take(self, action: Mapping[str, str], answer: str) -> None:
        path = action.get("path", "")
        match action.get("tool"):
            case "read":
                self.known.add(path)
            case "write":
                self.known.add(path)
                self.written[path] = action.get("content", "")
                self.checked = False
            case "check":
                self.checked, self.said = True, answer


def _loaded(text: str) -> Mapping[str, str]:
    try:
        action = json.loads(text)
    except ValueError:
        return {}
    return action if isinstance(action, dict) else {}


def _botched(task: Task, path: str, asked: Asked) -> str:
    """A repair that is none: a wrong number, or the file as it was."""
    if isinstance(task, Sums):
        return str(sum(task.sums[path]) + asked.chance.choice((-10, -1, 1, 10)))
    return task.files[path]
