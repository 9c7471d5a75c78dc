"""The host of the repair agent: a model, a check, and a hint where a run came closest.

    python examples/repair/host.py RUNS

Here both are made up, so that it runs anywhere: the "model" forgets one file until it is told. Put
your own in the place of `think` and `tsc`.
"""

import json
import sys
from pathlib import Path

from rerail.script import Call, Run, Script, repeatable

AGENT = Path(__file__).with_name("agent.py").read_text("utf-8")
TASK = {
    "task": "The field `name` is now `title`. Repair what used it.",
    "limit": 4,
    "files": {"types.ts": "title: string", "list.ts": "item.name", "view.ts": "item.name"},
}
HINT = "view.ts uses the field too."


def think(call: Call) -> object:
    """What a model would say to this history."""
    history, turn = call.arguments["history"], call.arguments["turn"]
    told = any(HINT in entry["content"] for entry in history)
    mended = {"tool": "write", "path": "list.ts", "content": "item.title"}
    steps = [{"tool": "read", "path": "types.ts"}, mended, {"tool": "check"}]
    if told:
        steps += [{**mended, "path": "view.ts"}, {"tool": "check"}]
    return {"content": json.dumps(steps[turn] if turn < len(steps) else {"tool": "done"})}


def tsc(call: Call) -> object:
    """What a compiler would say to these files."""
    files = call.arguments["files"]
    return {"errors": [f"{path}: no `name`" for path, text in files.items() if ".name" in text]}


TOOLS = {"think": repeatable(think), "tsc": repeatable(tsc)}


def closest(run: Run) -> int:
    """The model call after the check with the fewest errors, the last such one."""
    checks = [pause for pause in run.pauses if pause.tool == "tsc" and pause.answer]
    fewest = min(len(pause.answer.value["errors"]) for pause in checks)
    best = [pause for pause in checks if len(pause.answer.value["errors"]) == fewest][-1]
    return best.number + 1


def main(folder: Path) -> None:
    """A first run that fails, and a fork of it that does not."""
    folder.mkdir(parents=True, exist_ok=True)
    first = Script.start(
        AGENT, name="agent.py", tape=folder / "first.tape", tools=TOOLS, inputs=TASK
    )
    print("first run:", first.result()["errors"])
    back = closest(first)
    fork = Script.fork(first.tape, back, output=folder / "fork.tape", tools=TOOLS)
    reply = think_again(fork)
    turn = fork.pauses[-1].arguments["turn"]
    fork.answer(fork.pauses[-1].token, reply, note=HINT, limit=turn + 5)
    print(f"from pause {back}, with a hint:", fork.result()["errors"])


def think_again(fork: Run) -> object:
    """The model's reply where the fork waits, to the history with the hint in it."""
    arguments = fork.pauses[-1].arguments
    history = [*arguments["history"], {"role": "user", "content": HINT}]
    call = Call("think", {**arguments, "history": history}, "", 0, 1, fork.recorder)
    return think(call)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/repair/host.py RUNS (a folder for the tapes)")
    main(Path(sys.argv[1]))
