"""The six link checks: do the records of a run belong together? Starts nothing, judges no agent.

Each holds, is broken, or cannot be checked, and says why.
A broken link is a defect of the trace or of the orchestration: what the agent thought is not looked
at before it is mended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rerail.llm.view import ToolCall, ToolCallResponse
from rerail.trace.finding import Category, Evidence, Finding
from rerail.trace.gathered import Gathered, at
from rerail.trace.recomputed import recomputed
from rerail.trace.record import Record, short, text
from rerail.trace.story import Story

Standing = Literal["holds", "broken", "cannot be checked"]


@dataclass(frozen=True, slots=True)
class Link:
    """One check: its question, how it stands, why, the records that show it, and what is broken."""

    number: int
    question: str
    standing: Standing
    because: str
    evidence: tuple[Evidence, ...] = ()
    broken: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Check:
    number: int
    name: str
    question: str
    category: Category
    look: Callable[["_Check", Gathered, Sequence[Story]], Link]

    def holds(self, because: str, *records: Record | None) -> Link:
        return self._link("holds", because, records)

    def unknown(self, because: str, *records: Record | None) -> Link:
        return self._link("cannot be checked", because, records)

    def broken(self, found: Sequence[Finding]) -> Link:
        evidence = tuple(dict.fromkeys(place for one in found for place in one.evidence))
        what = "; ".join(one.what for one in found[:_TOLD])
        return Link(self.number, self.question, "broken", what, evidence, tuple(found))

    def finding(self, what: str, record: Record, *others: Record | None, states: str) -> Finding:
        evidence = [at(record), *(at(other) for other in others if other is not None)]
        return Finding(
            self.name, self.category, "linkage", what, tuple(evidence), record.order, states
        )

    def _link(self, standing: Standing, because: str, records: Iterable[Record | None]) -> Link:
        evidence = tuple(at(record) for record in records if record is not None)
        return Link(self.number, self.question, standing, because, evidence)


_TOLD: Final = 3


def verify_links(found: Gathered, stories: Sequence[Story] = ()) -> list[Link]:
    """All six, in their order."""
    return [check.look(check, found, stories) for check in _CHECKS]


def _proposal(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
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
    return check.holds(f"the checker read {ref}, as it was made", made[0], *started[:_TOLD])


def _misread(
    check: _Check, found: Gathered, made: Sequence[Record], started: Sequence[Record]
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


def _baseline(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
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
    return check.holds(f"{name} {version} is named and was loaded", contract, *loaded[:_TOLD])


def _wrong_baseline(
    check: _Check, record: Record, named: dict[str, Record], contract: Record
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


def _replies(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
    broken = [
        check.finding(f"{loose.record.kind} answers nothing: {loose.why}", loose.record,
                      states="a reply belongs to the request that asked for it")
        for loose in found.loose
    ]  # fmt: skip
    broken += [finding for story in stories for finding in _foreign(check, story)]
    if broken:
        return check.broken(broken)
    told = sum(1 for story in stories for _ in _responses(story))
    if not found.replies and not told:
        return check.unknown("no tool reply is on record")
    parts = [f"{found.replies} parts of replies belong to requests on record"] * bool(found.replies)
    parts += [f"{told} tool results to calls that the model made"] * bool(told)
    return check.holds(", ".join(parts))


def _foreign(check: _Check, story: Story) -> Iterator[Finding]:
    """Results under the id of a call that nobody made, or that was answered already otherwise."""
    called: set[str] = set()
    for said in story.said:
        for part in said.message.parts:
            if isinstance(part, ToolCall):
                called.add(part.call_id)
            elif isinstance(part, ToolCallResponse) and part.call_id not in called and called:
                evidence = Evidence(story.source, said.ref, part.response[:120])
                what = f"a tool's result is given for the call {part.call_id}, which nobody made"
                states = "a result belongs to the call that asked for it"
                yield Finding(
                    check.name, check.category, "linkage", what, (evidence,), said.order, states
                )


def _responses(story: Story) -> Iterator[ToolCallResponse]:
    for said in story.said:
        yield from (part for part in said.message.parts if isinstance(part, ToolCallResponse))


def _verdict(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
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
            broken.append(check.finding(what, verdict, *records[:_TOLD], states=why))
        shown = [verdict, *records[:_TOLD]]
    if broken:
        return check.broken(broken)
    return check.holds(f"{follows} follows: {why}", *shown)


def _approval(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
    attempts = found.of("action.attempted")
    asked = found.of("approval.requested", "approval.decided", "approval.consumed")
    if not attempts:
        if found.of("action.result", "approval.consumed", "action.reconciled"):
            return check.unknown("an action has a result, and no record says that it was sent")
        if asked:
            return check.holds("no action was attempted by it", *asked[:_TOLD])
        if not found.first("verdict.emitted"):
            return check.unknown("neither a verdict nor an approval is on record")
        if text(found.last("verdict.emitted"), "verdict") == "STOP":
            stop = found.last("verdict.emitted")
            return check.holds("none was asked for: the verdict is STOP", stop)
        return check.unknown("the verdict is PASS, and no approval is on record")
    results = [_of_attempt(check, found, attempt) for attempt in attempts]
    broken = [finding for _, findings in results for finding in findings]
    broken += _used_twice(check, found, attempts)
    if broken:
        return check.broken(broken)
    lacking = next((why for why, _ in results if why), "")
    if lacking:
        return check.unknown(lacking, *attempts[:1])
    decided = found.of("approval.decided")
    return check.holds("it names this proposal and this target, was in force, and was used once",
                       *decided[:_TOLD], *attempts[:_TOLD])  # fmt: skip


def _of_attempt(check: _Check, found: Gathered, attempt: Record) -> tuple[str, list[Finding]]:
    """Why an attempt's approval cannot be checked, else what is wrong with it."""
    approval, attempt_id = text(attempt, "approval_id"), text(attempt, "attempt_id")
    if not approval:
        what = f"attempt {attempt_id} was made without an approval"
        return "", [check.finding(what, attempt, states="an action needs an approval")]
    decided = [one for one in found.of("approval.decided") if text(one, "approval_id") == approval]
    if not decided:
        return f"no record says how approval {approval} was decided", []
    granted = [one for one in decided if text(one, "decision") == "granted"]
    if not granted:
        what = f"attempt {attempt_id} was made by approval {approval}, which was refused"
        return "", [check.finding(what, attempt, decided[-1], states=f"{approval} was refused")]
    return "", list(_out_of_scope(check, found, attempt, granted[-1]))


def _out_of_scope(
    check: _Check, found: Gathered, attempt: Record, granted: Record
) -> Iterator[Finding]:
    approval, own = text(granted, "approval_id"), f"attempt {text(attempt, 'attempt_id')}"
    for name, noun in (("proposal_ref", "proposal"), ("target", "target")):
        given, used = short(text(granted, name)), short(text(attempt, name))
        if given and used and given != used:
            what = f"approval {approval} is for the {noun} {given}, and {used} was used"
            states = f"approval {approval} names the {noun} {given}"
            yield check.finding(what, attempt, granted, states=states)
    if _had_expired(attempt, granted):
        what = f"approval {approval} had expired when {own} began"
        yield check.finding(what, attempt, granted, states=f"approval {approval} ends before")
    if found.place(granted.source, granted.order) > found.place(attempt.source, attempt.order):
        what = f"approval {approval} was granted after {own}"
        yield check.finding(what, attempt, granted, states="an approval comes before its action")


def _had_expired(attempt: Record, granted: Record) -> bool:
    """By one clock only: that of the source which holds both."""
    expires = granted.fields.get("expires")
    if not isinstance(expires, int) or attempt.wall is None or attempt.source != granted.source:
        return False
    return 0 < expires <= attempt.wall


def _used_twice(check: _Check, found: Gathered, attempts: Sequence[Record]) -> Iterator[Finding]:
    uses: dict[str, dict[str, Record]] = {}
    for attempt in attempts:
        used = uses.setdefault(text(attempt, "approval_id"), {})
        used.setdefault(text(attempt, "attempt_id"), attempt)
    for approval, used in uses.items():
        allowed = _uses_of(found, approval)
        if approval and len(used) > allowed:
            what = f"approval {approval} was used {len(used)} times, and is good for {allowed}"
            records = list(used.values())
            states = f"approval {approval} is good for {allowed} use"
            yield check.finding(what, records[allowed], records[0], states=states)


def _uses_of(found: Gathered, approval: str) -> int:
    decided = [one for one in found.of("approval.decided") if text(one, "approval_id") == approval]
    return int(decided[-1].fields.get("uses") or 1) if decided else 1


def _cleanup(check: _Check, found: Gathered, stories: Sequence[Story]) -> Link:
    made = found.of("scratch.made")
    # A tape that goes on with the run clears away what it laid out itself, and says no more of it.
    going_on = {record.source for record in found.of("task.follows")}
    done = [record for record in found.of("cleanup.done") if record.source not in going_on]
    if not made and not done:
        return check.unknown("no workspace of the run is on record")
    if not made or not done:
        lacking = "that a workspace was made" if not made else "what became of the workspace"
        return check.unknown(f"no record says {lacking}", *made[:1], *done[:1])
    folders = {text(record, "folder"): record for record in made}
    broken = [
        check.finding(
            f"cleanup was of {text(record, 'folder')}, which is no workspace of this run",
            record, made[0], states=f"the workspace is {text(made[0], 'folder')}",
        )
        for record in done
        if text(record, "folder") not in folders
    ]  # fmt: skip
    if broken:
        return check.broken(broken)
    last = done[-1]
    return check.holds(f"the run's own workspace was {text(last, 'outcome')}", made[0], last)


_CHECKS: Final = (
    _Check(1, "proposal-link", "Is the proposal what the checker read?", "check", _proposal),
    _Check(2, "baseline-link", "Did the checker use the baseline of the contract?", "check",
           _baseline),
    _Check(3, "reply-link", "Do tool replies belong to the requests that produced them?", "tool",
           _replies),
    _Check(4, "verdict-link", "Does the verdict follow from the recorded results?", "check",
           _verdict),
    _Check(5, "approval-link", "Does the approval name this proposal and target, once, in force?",
           "boundary", _approval),
    _Check(6, "cleanup-link", "Is cleanup of this run's own workspace?", "runtime", _cleanup),
)  # fmt: skip
