"""Whether a replay of today's code does again what went wrong on a tape. Reads reports of replays.

A run that went wrong at one recorded request (`r6`, `s3`) or in its end is avoided only where all
that was recorded before was followed: who leaves the tape earlier has shown nothing about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Expect = Literal["avoid", "reproduce", "follow"]
END: Final = "end"

Report = Mapping[str, Any]
"""A report of `rerail replay --json`: `spec/replay-report.schema.json`."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether what was expected holds, and why in one sentence. True in a condition where it does.

    `more` is what else a person may need: pytest shows it all where an assertion fails.
    """

    holds: bool
    text: str
    more: str = ""

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"{self.text}\n{self.more}".rstrip()


def judge(report: Report, expect: Expect, at: str = END) -> Judgement:
    """Judge a replay. `at` is where the recorded run went wrong: `r6`, `s3` or `end`."""
    if expect == "follow":
        return _follows(report)
    found = _at_the_end(report) if at == END else _at_a_request(report, at)
    if isinstance(found, Judgement):
        return found
    again, text = found
    return Judgement(again == (expect == "reproduce"), text)


def _follows(report: Report) -> Judgement:
    reasons = [reason["text"] for reason in report["verdict"]["reasons"]]
    text = "; ".join(reasons) or "the replay followed the tape to its end"
    return Judgement(bool(report["verdict"]["green"]), text)


def _at_the_end(report: Report) -> tuple[bool, str] | Judgement:
    early = _left_before(report, None)
    if early is not None:
        return early
    now, then = report["ended"]["status"], (report["recorded_end"] or {}).get("status")
    if now == then:
        return True, f"the command ended with {now}, as recorded"
    return False, f"the command ended with {now}, and the recorded one with {then}"


def _at_a_request(report: Report, at: str) -> tuple[bool, str] | Judgement:
    missed = next((item for item in _unused(report) if _is(item, at)), None)
    if missed is None:
        return True, f"{at} was asked again as recorded"
    early = _left_before(report, missed["event"])
    if early is not None:
        return early
    instead = report["divergence"]
    asked = f": {instead['text']}" if instead else ""
    return False, f"all before {at} was followed, and {at} was not asked again{asked}"


def _left_before(report: Report, event: int | None) -> Judgement | None:
    """Nothing is shown where the replay had left the tape already."""
    earlier = [item for item in _unused(report) if event is None or item["event"] < event]
    if not earlier:
        return None
    where, why = f"r{earlier[0]['exchange']}", report["divergence"]
    text = f"the replay left the tape before that, at {where}"
    return Judgement(False, f"{text}: {why['text']}" if why else text)


def _unused(report: Report) -> list[Mapping[str, Any]]:
    """What never came, calls beside the main ones left out, in recorded order."""
    found = [item["recording"] for item in report["unused"] if not item["side_call"]]
    return sorted((one for one in found if not one["lane"]), key=lambda one: one["event"])


def _is(recording: Mapping[str, Any], at: str) -> bool:
    number = int(at[1:])
    return bool(recording["step" if at[0] == "s" else "exchange"] == number)
