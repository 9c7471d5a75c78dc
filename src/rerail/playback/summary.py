"""Puts the report of a replay together from what its player wrote down. Pure."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Literal

from rerail import __version__
from rerail.compare.alike import EXPLAINED as OF_IDS
from rerail.compare.facts import EXPLAINED as OF_FACTS
from rerail.compare.reasons import EXPLAINED
from rerail.compare.side_calls import TABLE as SIDE_CALLS
from rerail.llm.steps import Attempt
from rerail.playback.ledger import Ledger
from rerail.playback.player import Player, describe
from rerail.playback.report import (
    ChildUse,
    Containment,
    Counts,
    End,
    RenamedId,
    Report,
    RuleUse,
    TapeNamed,
    Tried,
    Unused,
    Use,
    WorkspaceUsed,
)
from rerail.playback.script import RecordedExchange
from rerail.playback.verdict import Facts, judge
from rerail.tape.records import CHILDREN_UNSEEN, CaptureMissing


def make_report(
    player: Player,
    *,
    command: Sequence[str],
    environment: Iterable[str],
    containment: Containment,
    ended: End,
    pace: str,
    duration_ns: int,
    attempts: Iterable[Tried] = (),
    children: Sequence[ChildUse] = (),
    within_children: Container[int] = (),
    notes: Iterable[str] = (),
    workspace: WorkspaceUsed | None = None,
) -> Report:
    """The report of a finished replay. `environment` holds names, `notes` further sentences.

    `within_children` are recorded requests of children that were given back: nobody misses them.
    """
    ledger, tape = player.ledger, player.script.tape
    unused = [
        item for item in _not_used(player) if item.exchange.exchange_id not in within_children
    ]
    facts = _facts(player, unused, ended, containment, children)
    return Report(
        rerail=__version__,
        tape=TapeNamed(
            path=str(tape.path),
            id=tape.id,
            run_id=tape.run.run_id,
            task_id=tape.run.task_id,
            state=tape.state,
        ),
        command=list(command),
        recorded_command=tape.run.argv,
        environment=sorted(environment),
        containment=containment,
        verdict=judge(facts),
        ended=ended,
        recorded_end=facts.recorded_end,
        pace=pace,
        duration_ms=duration_ns / 1e6,
        on_divergence=player.policy,
        counts=_counts(player, unused, facts),
        divergence=ledger.divergences[0] if ledger.divergences else None,
        later_divergences=ledger.divergences[1:],
        rules=_rules(player),
        renamed=_renamed(player),
        renamed_in_replies=sorted(ledger.echoed),
        out_of_order=ledger.out_of_order,
        bound_by_arrival=ledger.bound_by_arrival,
        unused=_unused(player, unused),
        uses=_uses(player, within_children),
        workspace=workspace,
        attempts=list(attempts),
        children=list(children),
        notes=[
            *notes,
            *(f"{count} {text}" for text, count in ledger.notes.items()),
            *_unseen(player),
        ],
    )


def _facts(
    player: Player,
    unused: Sequence[RecordedExchange],
    ended: End,
    containment: Containment,
    children: Sequence[ChildUse],
) -> Facts:
    script, ledger = player.script, player.ledger
    counted = [item for item in script.exchanges.values() if item.side is None]
    matched_steps = _matched_steps(player)
    steps = {step for item in unused if item.step for step in _steps_left(item.step, ledger)}
    matched = [script.exchanges[number] for number in ledger.matched]
    recorded = script.tape.ended
    return Facts(
        recorded=len(counted),
        recorded_model_calls=script.call_count,
        matched=len(matched),
        matched_model_calls=len(matched_steps) + sum(bool(item.lane) for item in matched),
        refused=ledger.numbers("refused"),
        followed=ledger.numbers("followed"),
        live=ledger.numbers("live"),
        unused_steps=sorted(steps),
        unused_aside=[item.exchange.exchange_id for item in unused if item.lane],
        unused_exchanges=[item.exchange.exchange_id for item in unused if item.side is None],
        ended=ended,
        recorded_end=End(status=recorded.status, signal=recorded.signal) if recorded else None,
        containment=containment,
        diverged_children=[child.process for child in children if child.how == "diverged"],
    )


def _matched_steps(player: Player) -> set[int]:
    """The recorded model calls that were matched; of a WebSocket, the turns that came."""
    ledger, script = player.ledger, player.script
    attempts = [script.exchanges[number].step for number in ledger.matched]
    whole = {attempt.step for attempt in attempts if attempt and not attempt.turns}
    return whole | {script.turns[event] for event in ledger.turns}


def _steps_left(attempt: Attempt, ledger: Ledger) -> list[int]:
    """The steps of an exchange that was not used, or of a WebSocket not to its end."""
    if not attempt.turns:
        return [attempt.step]
    return [turn.step for turn in attempt.turns if turn.event not in ledger.turns]


def _not_used(player: Player) -> list[RecordedExchange]:
    """What was not asked for, WebSockets that were left before their last model turn included."""
    left = {number for number, turns in _turns_left(player).items() if turns}
    items = player.script.exchanges.items()
    unused = {item.exchange.exchange_id for item in player.unused()}
    return [item for number, item in items if number in unused or number in left]


def _turns_left(player: Player) -> dict[int, int]:
    """For each WebSocket that was begun, how many model turns did not come."""
    return {
        conversation.exchange_id: conversation.turns - conversation.turns_heard
        for conversation in player.conversations.values()
    }


def _counts(player: Player, unused: Sequence[RecordedExchange], facts: Facts) -> Counts:
    ledger = player.ledger
    left = {item.exchange.exchange_id for item in player.unused()}
    others = [
        item
        for item in unused
        if item.step is None and not item.lane and item.exchange.exchange_id in left
    ]
    return Counts(
        requests=ledger.requests,
        exact=len(ledger.numbers("exact")),
        equivalent=len(ledger.numbers("equivalent")),
        side_calls=len(ledger.numbers("side call")),
        refused=len(facts.refused),
        followed=len(facts.followed),
        live=len(facts.live),
        recorded=len(player.script.exchanges),
        recorded_model_calls=facts.recorded_model_calls,
        matched_model_calls=facts.matched_model_calls,
        unused_model_calls=len(facts.unused_steps) + len(facts.unused_aside),
        unused_others=len(others),
    )


def _unseen(player: Player) -> Iterator[str]:
    """Why requests may differ where a recording could not see all that went into them."""
    script = player.script
    near = [found.nearest.exchange for found in player.ledger.divergences if found.nearest]
    asked = {script.exchanges[number].recorded.request.process_id for number in near}
    for event in script.tape.events() if asked else ():
        if not isinstance(event, CaptureMissing) or event.what != CHILDREN_UNSEEN:
            continue
        if event.process_id in asked:
            yield (
                f"what children of p{event.process_id} ({event.detail}) said is not on the tape, "
                f"and was said anew: what differs may be theirs"
            )


def _rules(player: Player) -> list[RuleUse]:
    """Every rule that was needed, and every rule of the user's, needed or not."""
    used = player.ledger.rules
    listed = [
        RuleUse(name=name, reason=reason, source="built in", used=used[name])
        for name, reason in {**EXPLAINED, **OF_IDS, **OF_FACTS}.items()
    ]
    listed += [
        RuleUse(name=rule.name, reason=rule.reason, source=rule.source, used=used[rule.name])
        for rule in player.rules.listed()
    ]
    listed += [
        RuleUse(name=row.name, reason=row.reason, source="table", used=used[row.name])
        for row in {row.name: row for row in SIDE_CALLS}.values()
    ]
    return [rule for rule in listed if rule.used or rule.source == "user"]


def _renamed(player: Player) -> list[RenamedId]:
    likeness = player.likeness
    return [
        RenamedId(recorded=old, now=new, requests=likeness.used[old])
        for old, new in likeness.renaming.renamed.items()
    ]


def _unused(player: Player, unused: Sequence[RecordedExchange]) -> list[Unused]:
    turns = _turns_left(player)
    return [
        Unused(
            recording=describe(item),
            side_call=item.side.name if item.side else "",
            turns=turns.get(item.exchange.exchange_id, 0),
        )
        for item in unused
    ]


def _uses(player: Player, within_children: Container[int]) -> list[Use]:
    never = {item.exchange.exchange_id for item in player.unused()}
    items = sorted(player.script.exchanges.values(), key=lambda item: item.event)
    return [_use(player, item, never, within_children) for item in items]


def _use(
    player: Player,
    item: RecordedExchange,
    never: Container[int],
    within_children: Container[int],
) -> Use:
    number, ledger = item.exchange.exchange_id, player.ledger
    asked = number in ledger.matched or (item.side is not None and number not in never)
    how: Literal["asked", "otherwise", "not asked", "by a child"] = "otherwise"
    if asked:
        how = "asked"
    elif number in within_children:
        how = "by a child"
    elif number in never:
        how = "not asked"
    steps = list(item.step.steps) if item.step else []
    left = _steps_left(item.step, ledger) if item.step and (item.step.turns or not asked) else []
    return Use(
        exchange=number,
        event=item.event,
        how=how,
        came=[step for step in steps if step not in left],
        left=left,
        lane=item.lane,
        side_call=item.side.name if item.side else "",
    )
