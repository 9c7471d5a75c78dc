"""A policy for the simulated model that works at an experiment's tasks, and sometimes repairs them.

It reads, checks and writes as models do that are short of turns: the reading comes first, and a
hint makes a repair likelier. How likely is its own number, not a model's. It knows the repairs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rerail.experiment import sums
from rerail.experiment.task import Files
from rerail.experiment.tasks import task as repairs
from rerail.testing.model.conversation import Asked, Reply

SKILL: Final = 0.45
SKILL_WITH_HINT: Final = 0.9
READS_FIRST: Final = 0.8
CHECKS_NEXT: Final = 0.85
CHEATS: Final = 0.02
DULL: Final = ("package.json", "tsconfig.json")
"""Files that nobody reads first."""


@dataclass(frozen=True)
class Known:
    """A task and its repair: the files that must change, as they are then.

    `cheat` is a file, and what to write into it for a check to find nothing wrong.
    """

    prompt: str
    files: Files
    repair: Files
    cheat: tuple[str, str]


def known() -> list[Known]:
    """All tasks that come with rerail."""
    return [*map(_sums, sums.tasks()), *map(_typescript, repairs.tasks())]


class Repairer:
    """Plays an agent's model, one turn at a time, out of the history alone."""

    def __init__(self) -> None:
        self._known = known()

    def __call__(self, asked: Asked) -> Reply:
        """The next action, as the one JSON object that the agent asks for."""
        return Reply(json.dumps(self._action(asked, self._task(asked)), ensure_ascii=False))

    def _task(self, asked: Asked) -> Known:
        """The one whose words are in the history."""
        said = "\n".join(message.text for message in asked.messages if message.role == "user")
        named = [task for task in self._known if task.prompt in said]
        return named[0] if named else self._known[0]

    def _action(self, asked: Asked, task: Known) -> Mapping[str, str]:
        chance, past = asked.chance, _Past(asked)
        unread = [path for path in task.files if path not in past.known and path not in DULL]
        if unread and chance.random() < READS_FIRST:
            return {"tool": "read", "path": unread[0]}
        if past.said == "nothing is wrong":
            return {"tool": "done"}
        if not past.checked and chance.random() < CHECKS_NEXT:
            return {"tool": "check"}
        if chance.random() < CHEATS:
            path, content = task.cheat
            return {"tool": "write", "path": path, "content": content}
        return _write(asked, task, past)


def _write(asked: Asked, task: Known, past: "_Past") -> Mapping[str, str]:
    right = task.repair
    wrong = [path for path in right if past.written.get(path) != right[path]]
    named = [path for path in right if path in past.said]
    path = asked.chance.choice(wrong or named or sorted(right))
    hinted = any("Hint: " in message.text for message in asked.messages)
    able = asked.chance.random() < (SKILL_WITH_HINT if hinted else SKILL)
    content = right[path] if able else f"{task.files[path]}{asked.chance.choice('123456789')}"
    return {"tool": "write", "path": path, "content": content}


def _sums(task: sums.Sums) -> Known:
    return Known(task.prompt, task.files, task.right, (sums.QUESTIONS, ""))


def _typescript(task: repairs.RepairTask) -> Known:
    right = {p: text for p, text in task.repair_files.items() if task.start_files.get(p) != text}
    options = json.loads(task.start_files["tsconfig.json"])
    options["compilerOptions"]["noCheck"] = True
    lax = json.dumps(options)
    return Known(task.prompt, task.start_files, right, ("tsconfig.json", lax))


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
