"""Reads a run's numbers off its tape: what a receipt is made of, today or in a year."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from rerail.errors import RerailError, TapeAltered
from rerail.experiment.host import CHECK, THINK, VERDICT
from rerail.experiment.measured import Outcome, Run, State, Tokens
from rerail.experiment.plan import Key
from rerail.experiment.task import Verdict
from rerail.llm.bodies import read_bodies
from rerail.llm.meaning import completion_of
from rerail.llm.steps import call_of
from rerail.llm.view import Completion
from rerail.script.pause import Pause
from rerail.script.recorded import Recorded, read_script
from rerail.tape.exchange import exchanges
from rerail.tape.reader import Tape

FACT: Final = "experiment."
"""What the facts of a run's first event begin with that say which run it is."""


def facts(key: Key, *, plan: str, hint: str = "") -> dict[str, str]:
    """Which run a tape is, as its first event has it."""
    told = {"plan": plan, "task": key.task, "seed": str(key.seed), "arm": key.arm, "hint": hint}
    return {FACT + name: value for name, value in told.items()}


def measure(path: Path) -> Run | None:
    """The run on a tape; None where it is not over.

    Raises:
        RerailError: The tape cannot be read, is none of an experiment's, or was altered.
    """
    with Tape.open(path) as tape:
        script = read_script(tape)
        return _run(tape, script) if script.ended and tape.ended else None


def verdict_of(script: Recorded) -> Verdict | None:
    """The verdict as it was given; None where the run broke before it."""
    said = next((pause for pause in script.pauses if pause.tool == VERDICT), None)
    if said is None or said.answer is None or said.answer.raised:
        return None
    return msgspec.convert(said.answer.value, Verdict)


def judged_files(script: Recorded) -> dict[str, str] | None:
    """The files that were judged."""
    said = next((pause for pause in script.pauses if pause.tool == VERDICT), None)
    return said.arguments["files"] if said else None


def _run(tape: Tape, script: Recorded) -> Run:
    fact = _facts(tape)
    verdict = verdict_of(script)
    answers = _completions(tape)
    said = [answer for answer in answers if answer is not None]
    parent = tape.run.parent
    last = tape.event(tape.last_seq)
    return Run(
        key=Key(fact("task"), int(fact("seed")), fact("arm")),
        tape=f"{tape.path.parent.name}/{tape.path.name}",
        tape_id=tape.id,
        outcome=_outcome(verdict),
        models=sorted({one.model for one in said if one.model}),
        tokens=_tokens(said, unanswered=len(answers) - len(said)),
        turns=sum(_answered_with(pause, "content") for pause in script.pauses),
        checked=any(pause.tool == CHECK for pause in script.pauses),
        errors=verdict.errors if verdict else [],
        cheats=verdict.cheats if verdict else [],
        states=_states(tape, script),
        began_ns=tape.run.wall,
        took_ns=last.at - tape.run.at,
        plan=fact("plan"),
        parent=parent.tape_id if parent else "",
        pause=parent.step if parent else 0,
        hint=fact("hint"),
        why=_why(script) if verdict is None else "",
        mismatch=verdict.mismatch if verdict else "",
    )


def _facts(tape: Tape) -> Callable[[str], str]:
    def fact(name: str) -> str:
        try:
            return tape.run.facts[FACT + name]
        except KeyError as error:
            what = f"{tape.path} is not the tape of an experiment's run"
            raise TapeAltered(what, hint="take the experiment's folder from a copy") from error

    return fact


def _outcome(verdict: Verdict | None) -> Outcome:
    if verdict is None:
        return "broken"
    if verdict.fixed:
        return "fixed"
    return "cheated" if verdict.cheated else "failed"


def _why(script: Recorded) -> str:
    """The last line of the script's error: the exception that ended it."""
    error = script.ended.error if script.ended else ""
    return error.strip().rpartition("\n")[2]


def _completions(tape: Tape) -> list[Completion | None]:
    """What a model answered to each request, attempts that failed too; None where nothing."""

    def damaged(error: RerailError) -> None:
        raise error

    found: list[Completion | None] = []
    for exchange in exchanges(tape):
        call = call_of(exchange)
        if call is None:
            continue
        bodies = read_bodies(tape, exchange, damaged=damaged)
        said = completion_of(call.api, bodies.reply, bodies.reply_type) if bodies.reply else None
        found.append(said if said is not None and said.message is not None else None)
    return found


def _tokens(said: list[Completion], *, unanswered: int) -> Tokens:
    return Tokens(
        input=sum(one.usage.input_tokens or 0 for one in said),
        output=sum(one.usage.output_tokens or 0 for one in said),
        calls=len(said),
        uncounted=sum(one.usage.input_tokens is None for one in said),
        unanswered=unanswered,
    )


def _answered_with(pause: Pause, name: str) -> bool:
    answer = pause.answer
    return pause.tool == THINK and answer is not None and not answer.raised and name in answer.value


def _states(tape: Tape, script: Recorded) -> list[State]:
    """Each saved state. A frame holds them all, so what it takes is shared among them evenly."""
    digests = {pause.state.digest for pause in script.pauses}
    stored = tape.evidence.stored_size(digests)
    share = round(stored / len(script.pauses)) if script.pauses else 0
    return [_state(pause, share) for pause in script.pauses]


def _state(pause: Pause, stored: int) -> State:
    waits = pause.tool == THINK
    return State(
        pause=pause.number,
        tool=pause.tool,
        size=pause.state.size,
        stored=stored,
        turn=pause.arguments["turn"] if waits else None,
        errors=pause.arguments["errors"] if waits else None,
    )
