"""Whether a replay of today's code does again what went wrong on a tape. Reads reports of replays.

A run that went wrong at one recorded request (`r6`, `s3`) or in its end is avoided only where all
that was recorded before was followed: who leaves the tape earlier has shown nothing about it, nor
has who asked nothing at all and failed.
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

    `again` says whether the run went wrong again, None where the replay shows nothing about it.
    `more` is what else a person may need: the plug-in shows it where an assertion fails.
    """

    holds: bool
    text: str
    again: bool | None = None
    more: str = ""

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return self.text  # pytest makes one line of it


_Found = tuple[bool | None, str]


@dataclass(frozen=True, slots=True)
class Words:
    """What the command `said`, and what it says where its guard refuses: empty, nobody knows."""

    said: str = ""
    refusal: str = ""


def judge(report: Report, expect: Expect, at: str = END, words: Words = Words()) -> Judgement:
    """Judge a replay. `at` is where the recorded run went wrong: `r6`, `s3` or `end`."""
    if expect == "follow":
        return _follows(report)
    again, text = _at_the_end(report) if at == END else _at_a_request(report, at, words)
    return Judgement(again is not None and again == (expect == "reproduce"), text, again)


def _follows(report: Report) -> Judgement:
    reasons = [reason["text"] for reason in report["verdict"]["reasons"]]
    text = "; ".join(reasons) or "the replay followed the tape to its end"
    green = bool(report["verdict"]["green"])
    return Judgement(green, text, True if green else None)


def _at_the_end(report: Report) -> _Found:
    early = _left_before(report, _Place(None))
    if early:
        return None, early
    now, recorded = report["ended"]["status"], report["recorded_end"]
    if now and not _came(report, _Place(None)):
        return None, f"nothing recorded was asked, and the command ended with {now}"
    if recorded is None:
        text = f"the command ended with {now}, and the tape does not say how the recorded one did"
        return None if now else False, text
    if now == recorded["status"]:
        return True, f"the command ended with {now}, as recorded"
    return False, f"the command ended with {now}, and the recorded one with {recorded['status']}"


def _at_a_request(report: Report, at: str, words: Words) -> _Found:
    use = next((use for use in report["uses"] if _is(use, at)), None)
    if use is None:
        return None, f"there is no {at} on the tape"
    if use["how"] == "by a child":
        return None, f"{at} is of a child that was given back: nobody asks for it in a replay"
    step = int(at[1:]) if at[0] == "s" else None
    if use["how"] == "asked" and step not in use["left"]:
        return True, f"{at} was asked again as recorded"
    place = _Place(use, step)
    early = _left_before(report, place)
    if early:
        return None, early
    return _not_asked(report, at, place, words)


def _not_asked(report: Report, at: str, place: "_Place", words: Words) -> _Found:
    """A refusal may end the command with any status; one that followed nothing refused nothing."""
    instead, ended = report["divergence"], report["ended"]
    if instead:
        text = f"all before {at} was followed, and {at} was not asked again"
        return False, f"{text}: {instead['text']}"
    said = f"the command ended with {ended['status']} before {at}"
    if ended["signal"]:
        return None, f"{said}, by signal {ended['signal']}"
    if place.use["how"] == "otherwise":
        return None, f"the recorded reply to {at} could not be read"
    if ended["status"] and not _came(report, place):
        return None, f"{said}, and nothing recorded was asked"
    unlike = _unlike_a_refusal(ended["status"], words)
    if unlike:
        return None, f"{said}, {unlike}"
    return False, f"all before {at} was followed, and {at} was not asked again: {said}"


_CRASHES: Final = (
    ("Traceback (most recent call last):", "an exception that nobody caught"),
    ("\nNode.js v", "an exception that nobody caught"),
    ("\npanic: ", "a panic"),
    ("panicked at ", "a panic"),
    ('Exception in thread "main"', "an exception that nobody caught"),
)
"""How programs say on their way out that they broke down: Python, Node, Go, Rust, Java."""


def _unlike_a_refusal(status: int, words: Words) -> str:
    """Why an end before the place is not taken for a guard's word; empty where it is."""
    if words.refusal:
        return "" if words.refusal in words.said else f"and did not say “{words.refusal}”"
    crash = next((name for sign, name in _CRASHES if sign in words.said), "") if status else ""
    if not crash:
        return ""
    return f'with {crash}; a guard that refuses so is known by `refusal="what it says"`'


@dataclass(frozen=True, slots=True)
class _Place:
    """A place of the recording: a request, in a session a model call of it; or the end."""

    use: Any
    step: int | None = None

    def is_after(self, use: Any) -> bool:
        """Whether this request was recorded before."""
        return self.use is None or bool(use["event"] < self.use["event"])

    def left_in(self, use: Any) -> bool:
        """Whether something of this request, recorded before, never came."""
        if self.use is use:
            return any(self.step is not None and step < self.step for step in use["left"])
        return self.is_after(use) and (use["how"] in _NEVER or bool(use["left"]))


_NEVER: Final = ("not asked", "otherwise")


def _came(report: Report, place: _Place) -> bool:
    """Whether anything recorded before was asked again: then the command did run."""
    return any(
        use["how"] in ("asked", "by a child") and not use["side_call"]
        for use in report["uses"]
        if place.is_after(use) or use is place.use
    )


def _left_before(report: Report, place: _Place) -> str:
    """Where the replay had left the tape before; calls beside the main ones do not count."""
    main = [use for use in report["uses"] if not use["side_call"] and not use["lane"]]
    earlier = [use for use in main if use["how"] != "by a child" and place.left_in(use)]
    if not earlier:
        return ""
    where, why = f"r{earlier[0]['exchange']}", report["divergence"]
    text = f"the replay left the tape before that, at {where}"
    return f"{text}: {why['text']}" if why else text


def _is(use: Mapping[str, Any], at: str) -> bool:
    number = int(at[1:])
    if at[0] == "r":
        return bool(use["exchange"] == number)
    return number in use["came"] or number in use["left"]
