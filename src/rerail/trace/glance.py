"""How sure a first divergence is, in words: what it rests on, and what may be otherwise yet."""

from collections.abc import Iterator
from typing import Final

from rerail.trace.diagnosis import Diagnosis
from rerail.trace.finding import Finding
from rerail.trace.gathered import Gathered
from rerail.trace.record import text

_WELL: Final = ("applied", "checked")


def ended_well(found: Gathered) -> bool:
    """Whether the run says of itself that it came to its end, and well."""
    ended = found.last("task.ended")
    if ended is not None:
        return text(ended, "state") in _WELL
    run = found.last("run.ended")
    return run is not None and text(run, "status") == "0"


def how_sure(found: Gathered, diagnosis: Diagnosis) -> list[str]:
    """The reasons to believe it, and those not to, the strongest first."""
    return [_judged(diagnosis), *_account(found), *_doubts(found, diagnosis)]


def _judged(diagnosis: Diagnosis) -> str:
    if diagnosis.first is not None and diagnosis.orchestration:
        return "as sure as the records: two of them contradict each other, whatever the agent did"
    if diagnosis.first is not None:
        doubt = ", and an earlier one cannot be excluded while records are missing"
        how = "as sure as the records: it contradicts what was stated"
        if not _of_records(diagnosis.first):
            how = "likely: it is a reading of words that do not fit each other, so read both"
        return how + doubt if "; an earlier one" in diagnosis.because else how
    if diagnosis.candidates:
        return (
            "not decided: nothing noticed contradicts what was stated, and the earliest is seldom "
            "the cause"
        )
    if diagnosis.missing and not diagnosis.because.startswith("nothing was noticed"):
        return f"not decided: {diagnosis.because}"
    return "nothing was noticed, which does not say that nothing is wrong"


def _of_records(first: Finding) -> bool:
    """Whether it rests on what programs put down, and not on what somebody said."""
    return all(place.ref.startswith("e") for place in first.evidence)


def _account(found: Gathered) -> Iterator[str]:
    """Whether the account itself is whole."""
    if not found.tapes:
        yield "by another program's account: it was imported, not recorded"
    elif not found.is_whole():
        yield "the tape has no end: what came after its last record, nobody knows"


def _doubts(found: Gathered, diagnosis: Diagnosis) -> Iterator[str]:
    absent = [one for one in diagnosis.missing if one.detector == "missing-record"]
    if absent:
        names = (one.what.partition(":")[0].removeprefix("no record of ") for one in absent)
        yield f"missing, and not made up: {', '.join(names)}"
    gaps = len(diagnosis.missing) - len(absent)
    if gaps:
        things = "one more thing" if gaps == 1 else f"{gaps} more things"
        yield f"{things} could not be captured, or cannot be shown by the source"
    if found.competing:
        count = len(found.competing)
        pairs = "a pair of records" if count == 1 else f"{count} pairs of records"
        yield f"the order of {pairs} is not known"
