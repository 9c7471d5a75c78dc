"""The faults of runs in two planes, by name: each really run. `category` is whose assumption broke.

`None` is no fault. `unresolved`: what became of the target cannot be told from the run.
"""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rerail.tape.plane_records import CheckStarted
from rerail.tape.records import ProcessStarted
from tests.journeys.faults.lab import SLIP, Lab, Made, events

Category = Literal["task", "agent", "tool", "check", "boundary", "target", "runtime"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to go wrong: `make` runs it, `state` is how the run says it ended."""

    name: str
    category: Category | None
    state: str
    make: Callable[[Lab], Made]


FAULTS: Final[dict[str, Fault]] = {}


def fault(
    name: str, category: Category | None, state: str
) -> Callable[[Callable[[Lab], Made]], Callable[[Lab], Made]]:
    def register(make: Callable[[Lab], Made]) -> Callable[[Lab], Made]:
        FAULTS[name] = Fault(name, category, state, make)
        return make

    return register


def once(lab: Lab, *options: str) -> Made:
    ran = lab.run(*options)
    return Made(ran.tape, ran=(ran,))


def granted(lab: Lab, *options: str) -> Made:
    """A run that a policy lets through."""
    lab.policy("retry.json")
    return once(lab, *options)


# None.


@fault("applied by policy", None, "applied")
def applied_by_policy(lab: Lab) -> Made:
    return granted(lab)


@fault("applied by a person", None, "applied")
def applied_by_a_person(lab: Lab) -> Made:
    asked = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval, "--reason", "looks right")
    applied = lab.run("--apply", str(asked.tape), "--approval", approval)
    return Made(asked.tape, (applied.tape,), (asked, applied))


@fault("checked, no target", None, "checked")
def checked(lab: Lab) -> Made:
    del lab.contract["target"]
    return once(lab)


@fault("cases that do not waver", None, "applied")
def steady(lab: Lab) -> Made:
    lab.contract["checker"]["repeat"] = 3
    return granted(lab)


# The task.


@fault("stale input", "task", "stopped")
def stale_input(lab: Lab) -> Made:
    lab.contract["inputs"][0]["version"] = "5"
    lab.answer = SLIP
    return once(lab)


@fault("a policy nobody told", "task", "stopped")
def untold_policy(lab: Lab) -> Made:
    lab.contract["inputs"] = []
    lab.contract["constraints"] = []
    lab.answer = SLIP
    return once(lab)


@fault("an input is not there", "task", "not started")
def missing_input(lab: Lab) -> Made:
    lab.contract["inputs"][0]["path"] = "nowhere.json"
    return once(lab)


@fault("an input is another file", "task", "not started")
def other_input(lab: Lab) -> Made:
    lab.contract["inputs"][0]["digest"] = "sha256:" + "0" * 64
    return once(lab)


# The agent.


@fault("violates a policy in its input", "agent", "stopped")
def violates(lab: Lab) -> Made:
    lab.answer = SLIP
    return once(lab)


@fault("proposes nothing", "agent", "stopped")
def proposes_nothing(lab: Lab) -> Made:
    lab.agent("nothing")
    return once(lab)


@fault("the agent fails", "agent", "stopped")
def agent_fails(lab: Lab) -> Made:
    lab.agent("fails")
    return once(lab)


# The check.


@fault("the checker goes by another baseline", "check", "stopped")
def wrong_baseline(lab: Lab) -> Made:
    """RUN-8894: a right proposal, measured against baseline 11 where 12 is named."""
    lab.checker("other baseline", str(lab.task / "cases-11.json"))
    return once(lab)


@fault("passes by another baseline", "check", "stopped")
def passes_by_another_baseline(lab: Lab) -> Made:
    lab.checker("other baseline", str(lab.write_baseline(13, at_most=9)))
    return once(lab)


@fault("the baseline is not there", "check", "not started")
def missing_baseline(lab: Lab) -> Made:
    lab.contract["baseline"]["path"] = "nowhere.json"
    return once(lab)


@fault("the baseline is another version", "check", "not started")
def baseline_of_another_version(lab: Lab) -> Made:
    lab.contract["baseline"]["path"] = "cases-11.json"
    return once(lab)


@fault("the baseline is another file", "check", "not started")
def baseline_of_another_digest(lab: Lab) -> Made:
    lab.contract["baseline"]["digest"] = "sha256:" + "0" * 64
    return once(lab)


@fault("the check is unreadable", "check", "stopped")
def unreadable_check(lab: Lab) -> Made:
    lab.checker("garbage")
    return once(lab)


@fault("the check times out", "check", "stopped")
def check_times_out(lab: Lab) -> Made:
    lab.checker("hangs")
    lab.contract["checker"]["time"] = "500ms"
    return once(lab)


@fault("the checker dies", "check", "stopped")
def checker_dies(lab: Lab) -> Made:
    lab.checker("dies")
    return once(lab)


@fault("a case wavers", "check", "stopped")
def wavers(lab: Lab) -> Made:
    lab.checker("wavers")
    lab.contract["checker"]["repeat"] = 2
    return once(lab)


@fault("the checker read another proposal", "check", "stopped")
def other_proposal(lab: Lab) -> Made:
    lab.checker("other proposal")
    return once(lab)


@fault("the checker contradicts itself", "check", "stopped")
def contradicts(lab: Lab) -> Made:
    lab.checker("status")
    return once(lab)


# The boundary.


@fault("the approval is refused", "boundary", "refused")
def refused(lab: Lab) -> Made:
    asked = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval, "--refuse", "--reason", "not today")
    tried = lab.run("--apply", str(asked.tape), "--approval", approval)
    return Made(asked.tape, (tried.tape,), (asked, tried))


@fault("the approval has expired", "boundary", "refused")
def expired(lab: Lab) -> Made:
    lab.contract["approval"]["ttl"] = "3s"
    asked = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval)
    found = lab.holds().approval(approval)
    assert found is not None
    from rerail.clock import wall_ns

    lab.wait_for(lambda: wall_ns() > found.expires, "the approval does not expire")
    tried = lab.run("--apply", str(asked.tape), "--approval", approval)
    return Made(asked.tape, (tried.tape,), (asked, tried))


@fault("the approval is used twice", "boundary", "refused")
def used_twice(lab: Lab) -> Made:
    first = applied_by_a_person(lab)
    approval = lab.holds().approvals()[0].id
    second = lab.run("--apply", str(first.tape), "--approval", approval)
    return Made(first.tape, (*first.more, second.tape), (*first.ran, second))


@fault("the approval is for another proposal", "boundary", "refused")
def for_another_proposal(lab: Lab) -> Made:
    first = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval)
    lab.answer = {"timeout_before_send": 2, "timeout_after_charge": 0}
    second = lab.run()
    tried = lab.run("--apply", str(second.tape), "--approval", approval)
    return Made(second.tape, (tried.tape,), (first, second, tried))


@fault("the approval is for another target", "boundary", "refused")
def for_another_target(lab: Lab) -> Made:
    lab.contract["target"]["name"] = "client/other"
    other = lab.run()
    approval = lab.waiting()
    lab.rerail("approve", approval)
    lab.contract["target"]["name"] = "client/live"
    asked = lab.run()
    tried = lab.run("--apply", str(asked.tape), "--approval", approval)
    return Made(asked.tape, (tried.tape,), (other, asked, tried))


@fault("nobody has approved it", "boundary", "refused")
def not_granted(lab: Lab) -> Made:
    asked = lab.run()
    tried = lab.run("--apply", str(asked.tape), "--approval", lab.waiting())
    return Made(asked.tape, (tried.tape,), (asked, tried))


# The target.


@fault("accepted, then silent", "target", "unresolved")
def accepted_then_silent(lab: Lab) -> Made:
    lab.target("apply", "accepts, then hangs", time="4s")  # it has accepted long before
    return granted(lab)


@fault("silent, and nothing done", "target", "unresolved")
def silent(lab: Lab) -> Made:
    lab.target("apply", "hangs", time="700ms")
    return granted(lab)


@fault("the target rejects it", "target", "rejected")
def rejects(lab: Lab) -> Made:
    lab.target("apply", "rejects")
    return granted(lab)


@fault("the target takes half of it", "target", "unresolved")
def half(lab: Lab) -> Made:
    lab.target("apply", "half")
    return granted(lab)


@fault("the target says yes and does nothing", "target", "applied")
def claims(lab: Lab) -> Made:
    lab.target("apply", "claims")
    return granted(lab)


@fault("the target cannot be read", "target", "refused")
def unreadable_target(lab: Lab) -> Made:
    lab.target("read", "fails")
    return granted(lab)


@fault("the target cannot be read afterwards", "target", "applied")
def unreadable_afterwards(lab: Lab) -> Made:
    lab.target("read", "fails once applied")
    return granted(lab)


@fault("silent, then reconciled", "target", "unresolved")
def reconciled(lab: Lab) -> Made:
    made = accepted_then_silent(lab)
    lab.rerail("reconcile", lab.open_attempt(), "-o", "reconciled.tape")
    return Made(made.tape, (lab.folder / "reconciled.tape",), made.ran)


# The runtime.


@fault("the turns are used up", "runtime", "stopped")
def turns_spent(lab: Lab) -> Made:
    lab.agent("turns", "4")
    lab.contract["budget"]["turns"] = 2
    return once(lab)


@fault("the tokens are used up", "runtime", "stopped")
def tokens_spent(lab: Lab) -> Made:
    lab.agent("turns", "50")
    lab.contract["budget"] = {"tokens": 100}
    return once(lab)


@fault("the time is used up", "runtime", "stopped")
def time_spent(lab: Lab) -> Made:
    lab.agent("sleep")
    lab.contract["budget"]["time"] = "2s"
    return once(lab)


@fault("the agent is killed", "runtime", "stopped")
def agent_killed(lab: Lab) -> Made:
    lab.agent("killed")
    return once(lab)


@fault("the tape cannot grow", "runtime", "")
def no_room(lab: Lab) -> Made:
    """As on a full disk: no file of the runner may become larger, and the agent leaves much."""
    lab.policy("*")
    lab.agent("fills")
    lab.room = 600_000
    made = once(lab)
    lab.room = 0
    return made


def killed_when(lab: Lab, ready: Callable[[Path], bool]) -> Made:
    """kill -9 of the runner at a moment that its tape, or the target, shows."""
    process, tape = lab.start("--no-wait")
    lab.wait_for(lambda: tape.exists() and ready(tape), "that moment never came")
    process.send_signal(signal.SIGKILL)
    process.wait()
    return Made(tape)


@fault("the worker is killed while the agent works", "runtime", "")
def killed_with_the_agent(lab: Lab) -> Made:
    lab.agent("sleep")
    return killed_when(lab, lambda tape: seen(tape, ProcessStarted))


@fault("the worker is killed while the action is under way", "runtime", "")
def killed_with_the_action(lab: Lab) -> Made:
    lab.policy("retry.json")
    lab.target("apply", "accepts, then hangs", time="30s")
    return killed_when(lab, lambda tape: (lab.live / "ready").exists())


@fault("the worker is killed while it is checked", "runtime", "")
def killed_with_the_check(lab: Lab) -> Made:
    lab.checker("hangs")
    return killed_when(lab, lambda tape: seen(tape, CheckStarted))


def seen(tape: Path, kind: type) -> bool:
    """Whether the tape, which is being written, has such an event by now."""
    from rerail.errors import TapeUnreadable

    try:
        return bool(events(tape, kind))
    except TapeUnreadable:
        return False
