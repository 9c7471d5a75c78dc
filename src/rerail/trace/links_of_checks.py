"""Links 1, 2 and 4: proposal, baseline and verdict of a check belong together. Judges no agent."""

from collections.abc import Iterator, Sequence

from rerail.trace.finding import Finding
from rerail.trace.gathered import Gathered
from rerail.trace.link import TOLD, Check, Link
from rerail.trace.recomputed import recomputed
from rerail.trace.record import Record, short, text
from rerail.trace.story import Story


def proposal_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """The checker read the proposal as it was made."""
    made, started = found.of("proposal.made"), found.of("check.started")
    if not made and not started:
        return check.unknown("no proposal and no check are on record")
    if not made or not started:
        lacking = "the proposal" if not made else "what the checker read"
        return check.unknown(f"{lacking} is not on record", *made[:1], *started[:1])
    broken = list(_misread(check, found, made, started))
    if broken:
        return check.broken(broken)
    ref = short(text(started[0], "proposal_ref"))
    return check.holds(f"the checker read {ref}, as it was made", made[0], *started[:TOLD])


def _misread(
    check: Check, found: Gathered, made: Sequence[Record], started: Sequence[Record]
) -> Iterator[Finding]:
    by_ref = {text(record, "proposal_ref"): record for record in made}
    for record in started:
        asked, read = text(record, "proposal_ref"), text(record, "read_ref")
        number = record.fields.get("check_id")
        if asked not in by_ref:
            what = f"check {number} is of {short(asked)}, which nobody on record proposed"
            yield check.finding(what, record, made[0], states=_proposed(made[0]))
        elif read and read != asked:
            what = f"check {number} read {short(read)} instead of the proposal {short(asked)}"
            yield check.finding(what, record, by_ref[asked], states=_proposed(by_ref[asked]))
    for ended in found.of("check.ended"):
        reported = text(ended, "reported_ref")
        if reported and reported not in by_ref:
            what = f"the checker says that it read {short(reported)}, which nobody proposed"
            yield check.finding(what, ended, made[0], states=_proposed(made[0]))


def _proposed(made: Record) -> str:
    return f"the proposal is {short(text(made, 'proposal_ref'))}"


def baseline_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """The checker went by the baseline that the contract names."""
    contract, loaded = found.first("task.accepted"), found.of("baseline.loaded")
    if not loaded:
        return check.unknown("no record says which baseline was loaded", contract)
    if contract is None:
        return check.unknown("the task contract is not on record", *loaded[:1])
    named = {text(record, "name"): record for record in loaded if text(record, "wanted_version")}
    broken = [
        finding
        for record in loaded
        if (finding := _wrong_baseline(check, record, named, contract)) is not None
    ]
    if broken:
        return check.broken(broken)
    if not named:
        return check.unknown("no record says which baseline the contract names", *loaded[:1])
    name, first = next(iter(named.items()))
    version = text(first, "wanted_version")
    if not found.of("check.started"):
        because = f"baseline {name} {version} was loaded, and no check that used it is on record"
        return check.unknown(because, contract, first)
    return check.holds(f"{name} {version} is named and was loaded", contract, *loaded[:TOLD])


def _wrong_baseline(
    check: Check, record: Record, named: dict[str, Record], contract: Record
) -> Finding | None:
    stated = record if text(record, "wanted_version") else named.get(text(record, "name"))
    if text(record, "problem"):
        version = text(stated, "wanted_version") if stated else ""
        what = f"baseline {text(record, 'name')} {version} could not be loaded: " + text(
            record, "problem"
        )
        return check.finding(what, record, contract, states=_named(stated))
    if stated is None:
        if not named:
            return None
        what = f"the checker loaded {text(record, 'name')}, which the contract does not name"
        return check.finding(what, record, contract, states=_named(next(iter(named.values()))))
    wanted, got = text(stated, "wanted_version"), text(record, "version")
    if got and got != wanted:
        what = f"the checker loaded baseline {got} instead of the required baseline {wanted}"
        return check.finding(what, record, contract, states=_named(stated))
    digest, wanted_digest = text(record, "digest"), text(stated, "wanted_digest")
    wanted_digest = wanted_digest or text(named.get(text(record, "name")), "digest")
    if digest and wanted_digest and digest != wanted_digest:
        what = f"baseline {wanted} has the content {short(digest)}, not {short(wanted_digest)}"
        return check.finding(what, record, contract, states=_named(stated))
    return None


def _named(record: Record | None) -> str:
    if record is None:
        return "the contract names another baseline"
    name, version = text(record, "name"), text(record, "wanted_version")
    return f"the contract names baseline {name} version {version}".replace("  ", " ")


def verdict_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """The verdict is what follows from the recorded results."""
    verdicts = found.of("verdict.emitted")
    if not verdicts:
        return check.unknown("no verdict is on record")
    broken: list[Finding] = []
    shown: list[Record] = []
    for verdict in verdicts:
        follows, why, records = recomputed(found, verdict)
        if not follows:
            return check.unknown(why, verdict)
        if follows != text(verdict, "verdict"):
            what = f"the verdict is {text(verdict, 'verdict')}, but {follows} follows: {why}"
            broken.append(check.finding(what, verdict, *records[:TOLD], states=why))
        shown = [verdict, *records[:TOLD]]
    if broken:
        return check.broken(broken)
    return check.holds(f"{follows} follows: {why}", *shown)
