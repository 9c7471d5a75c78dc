"""A host that runs the agent on a tape, or resumes it, and dies by kill -9 at one moment.

`python host.py TAPE MOMENT LOG`: the moment is `before:3`, `after:3` (the tool of pause 3 ran, and
nobody was told), `answered:3` (its answer is saved, the script not told), `ended` (the script has
ended, its tape has not), or `never`. Each call of a tool is a line in LOG, with its key: what the
world saw.
"""

import os
import signal
import sys
from pathlib import Path

from rerail.script import Call, Run, Script, repeatable
from rerail.script import run as running
from rerail.script.keeping import Keeping
from tests.script.conftest import AGENT, GIVEN


def tools(moment: str, log: Path) -> dict[str, object]:
    """Tools that leave a trace in the world, and die at the moment."""

    def die(when: str, pause: int) -> None:
        if moment == f"{when}:{pause}":
            os.kill(os.getpid(), signal.SIGKILL)

    def seen(call: Call) -> None:
        die("before", call.pause)
        with log.open("a") as file:
            file.write(f"{call.name} {call.key.partition(':')[2]} {call.attempt}\n")
        die("after", call.pause)

    def think(call: Call) -> object:
        seen(call)
        return {"content": f"thought {call.arguments['turn']}"}

    def check(call: Call) -> object:
        seen(call)
        return {"errors": len(call.arguments["files"])}

    return {"think": repeatable(think), "check": check}


def run(tape: Path, moment: str, log: Path) -> Run:
    """Start, or go on with what is there."""
    given = tools(moment, log)
    if tape.exists():
        return Script.resume(tape, tools=given)
    return Script.start(AGENT, tape=tape, tools=given, inputs=GIVEN)


def die_when_answered(moment: str) -> None:
    """Die between the answer on the disk and the script's going on."""
    when, _, pause = moment.partition(":")
    told = running.Run._told

    def tell(self: Run, *rest: object) -> object:
        if when == "answered" and self.pauses[-1].number == int(pause):
            os.kill(os.getpid(), signal.SIGKILL)
        return told(self, *rest)

    running.Run._told = tell


def die_when_ended(moment: str) -> None:
    """Die between the script's end on the disk and the last event."""
    run_ended = Keeping.run_ended

    def end(self: Keeping, *, well: bool) -> None:
        if moment == "ended":
            self.hold()
            os.kill(os.getpid(), signal.SIGKILL)
        run_ended(self, well=well)

    Keeping.run_ended = end


if __name__ == "__main__":
    die_when_ended(sys.argv[2])
    die_when_answered(sys.argv[2])
    run(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
