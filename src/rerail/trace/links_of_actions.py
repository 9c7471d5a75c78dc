"""Links 3, 5 and 6: replies, approvals and cleanup belong to what they are of. Judges no agent."""

from collections.abc import Iterator, Sequence

from rerail.llm.view import ToolCall, ToolCallResponse
from rerail.trace.finding import Evidence, Finding
from rerail.trace.gathered import Gathered
from rerail.trace.link import TOLD, Check, Link
from rerail.trace.record import Record, short, text
from rerail.trace.story import Story


def reply_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """Replies answer requests on record, and results calls that were made."""
    broken = [
        check.finding(f"{loose.record.kind} answers nothing: {loose.why}", loose.record,
                      states="a reply belongs to the request that asked for it")
        for loose in found.loose
    ]  # fmt: skip
    broken += [finding for story in stories for finding in _foreign(check, story)]
    if broken:
        return check.broken(broken)
    unasked = next((part for part in found.lacking if part.is_request), None)
    if unasked is not None:
        return check.unknown(f"{unasked.what} is not on record", unasked.record)
    told = sum(1 for story in stories for _ in _responses(story))
    if not found.replies and not told:
        return check.unknown("no tool reply is on record")
    parts = [f"{found.replies} parts of replies belong to requests on record"] * bool(found.replies)
    parts += [f"{told} tool results to calls that the model made"] * bool(told)
    return check.holds(", ".join(parts), found.first_reply)


def _foreign(check: Check, story: Story) -> Iterator[Finding]:
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


def approval_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """Each attempt has an approval of its proposal and target, in force, used once."""
    attempts = found.of("action.attempted")
    asked = found.of("approval.requested", "approval.decided", "approval.consumed")
    if not attempts:
        if found.of("action.result", "approval.consumed", "action.reconciled"):
            return check.unknown("an action has a result, and no record says that it was sent")
        if asked:
            return check.holds("no action was attempted by it", *asked[:TOLD])
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
                       *decided[:TOLD], *attempts[:TOLD])  # fmt: skip


def _of_attempt(check: Check, found: Gathered, attempt: Record) -> tuple[str, list[Finding]]:
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
    check: Check, found: Gathered, attempt: Record, granted: Record
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


def _used_twice(check: Check, found: Gathered, attempts: Sequence[Record]) -> Iterator[Finding]:
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


def cleanup_link(check: Check, found: Gathered, stories: Sequence[Story]) -> Link:
    """Cleanup is of the run's own workspace."""
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
