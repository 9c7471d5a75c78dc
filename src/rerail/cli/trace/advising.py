"""What to do next about a failed run, the most urgent first, with commands. Does none of it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from rerail.cli.trace.glanced import Glanced
from rerail.trace.categories import ADVICE
from rerail.trace.final import UNKNOWN
from rerail.trace.gathered import at
from rerail.trace.record import text


@dataclass(frozen=True, slots=True)
class Advised:
    """Why something is to be done, and a command that can be pasted; empty where there is none."""

    why: str
    command: str = ""


def advised(seen: Glanced) -> Iterator[Advised]:
    """First what may still do harm, then the mend, then what keeps the run."""
    yield from _at_the_target(seen)
    yield from _approvals(seen)
    yield from _mend(seen)
    yield from _keep(seen)


def _at_the_target(seen: Glanced) -> Iterator[Advised]:
    for attempt in seen.safety.attempts:
        if attempt.uncertain:
            why = f"find out what {attempt.attempt_id} did, before anybody tries again"
            yield Advised(why, f"rerail reconcile {shlex.quote(attempt.attempt_id)}")
    if not seen.safety.attempts and seen.found.writes["unknown"]:
        first = seen.found.writes["unknown"][0].record
        yield Advised(
            "ask the service what became of the request that was not answered",
            seen.opens(at(first)),
        )


def _approvals(seen: Glanced) -> Iterator[Advised]:
    question = seen.safety.questions[2]
    if question.answer != "yes":
        return
    for place in question.evidence:
        record = seen.record(place)
        approval = text(record, "approval_id")
        if approval:
            command = f"rerail approve {shlex.quote(approval)} --refuse"
            yield Advised(f"{question.because}: take it back unless you want it used", command)


def _mend(seen: Glanced) -> Iterator[Advised]:
    diagnosis = seen.diagnosis
    if seen.well and not seen.unchecked:
        return
    if diagnosis.classification == "unresolved":
        yield from _read_on(seen)
        return
    why = ADVICE[diagnosis.classification].recovery
    if diagnosis.classification == "target" and seen.safety.questions[4].answer == "no":
        why = "every attempt's outcome is known: mend what the target refused, then run it anew"
    yield Advised(why, _of_category(seen))


def _read_on(seen: Glanced) -> Iterator[Advised]:
    """Nothing decides: read, or hold it against a run that went well."""
    if seen.tape is None:
        return
    if seen.spoken:
        yield Advised("read what was asked, done and said, step by step",
                      f"rerail steps {seen.named()}")  # fmt: skip
    else:
        yield Advised("read what happened", f"rerail show {seen.named()} --events")
    yield Advised("where a run of it went well: see where the two part",
                  f"rerail diff GOOD.tape {seen.named()}")  # fmt: skip


def _of_category(seen: Glanced) -> str:
    """The command with which a category is mended, where rerail has one."""
    category, first = seen.diagnosis.classification, seen.diagnosis.first
    contract = text(seen.found.first("task.accepted"), "source")
    if category == "check" and contract and seen.found.first("proposal.made"):
        return f"rerail run {shlex.quote(contract)} --recheck {seen.named()}"
    steps = [place.ref for place in (first.evidence if first else ()) if place.ref[:1] == "s"]
    if category == "agent" and seen.tape is not None and steps:
        step = steps[-1]  # the model call that said it: the others led there
        return f'rerail rewind {seen.named()} --to {step} --hint "…"'
    return ""


def _keep(seen: Glanced) -> Iterator[Advised]:
    if seen.case is not None:
        case = shlex.quote(str(seen.case))
        yield Advised("write it down, every line with its evidence", f"rerail trace report {case}")
        return
    run = seen.final.run_id if seen.final.run_id != UNKNOWN else "this run"
    question = f"What did {run} do?" if seen.well else f"Why did {run} fail?"
    command = f"rerail trace open {seen.named()} --question {shlex.quote(question)}"
    yield Advised("freeze it and hold its task: an investigation that others can check", command)
    if seen.tape is not None and seen.found.kinds[seen.tape.name]["http.request"]:
        yield Advised("keep it as a test", f"rerail test {seen.named()}")
