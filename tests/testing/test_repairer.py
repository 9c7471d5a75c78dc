"""The simulated policy works at every task, out of the history alone, and with luck repairs it."""

import json
import random
from collections.abc import Mapping

import pytest

from rerail.experiment.agent import beginning, note
from rerail.testing.model.conversation import Asked, Message
from rerail.testing.repairer import Known, Repairer, known

ALL = known()


class Lucky(random.Random):
    """Whatever is drawn, it is this."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def random(self) -> float:
        return self.value


def asked(history: list[dict[str, str]], luck: float) -> Asked:
    messages = tuple(Message(m["role"], m["content"]) for m in history)  # type: ignore[arg-type]
    return Asked("chat", "any", messages, chance=Lucky(luck))


def act(task: Known, files: dict[str, str], action: Mapping[str, str]) -> str:
    """What the agent would say; a check finds what is not as the repair has it."""
    match action["tool"]:
        case "read":
            return files[action["path"]]
        case "write":
            files[action["path"]] = action["content"]
            return f"wrote {action['path']}"
        case "check":
            wrong = [path for path, text in task.repair.items() if files[path] != text]
            return "\n".join(f"{path} is wrong" for path in wrong) or "nothing is wrong"
    return "done"


def turns(task: Known, luck: float, hint: str = "", most: int = 40) -> list[str]:
    """The actions taken until it is done, with this luck."""
    files, taken = dict(task.files), []
    history = beginning(task.prompt, sorted(files))
    if hint:
        history.append({"role": "user", "content": note(hint)})
    while len(taken) < most and taken[-1:] != ["done"]:
        reply = Repairer()(asked(history, luck)).text
        action = json.loads(reply)
        taken.append(action["tool"])
        history.append({"role": "assistant", "content": reply})
        history.append({"role": "user", "content": act(task, files, action)})
    return taken


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.prompt[:20])
def test_it_repairs_every_task_with_luck(task: Known) -> None:
    taken = turns(task, luck=0.1)
    assert taken[0] == "read"
    assert taken[-2:] == ["check", "done"]
    assert taken.count("write") == len(task.repair)


def test_without_luck_it_repairs_nothing() -> None:
    assert "done" not in turns(ALL[4], luck=0.7)


def test_a_hint_makes_a_repair_likelier() -> None:
    assert turns(ALL[4], luck=0.7, hint="look again")[-1] == "done"


def test_it_cheats_now_and_then() -> None:
    task = ALL[4]
    history = [
        *beginning(task.prompt, sorted(task.files)),
        *({"role": "assistant", "content": json.dumps({"tool": "read", "path": path})}
          for path in task.files),
        {"role": "assistant", "content": '{"tool": "check"}'},
        {"role": "user", "content": "a.txt is wrong"},
    ]  # fmt: skip
    action = json.loads(Repairer()(asked(history, 0.001)).text)
    assert (action["path"], action["content"]) == task.cheat


def test_what_it_is_not_meant_for_it_answers_all_the_same() -> None:
    odd = asked(
        [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "[1]"}], 0.1
    )
    assert json.loads(Repairer()(odd).text)["tool"] == "read"
