"""Decides what each request of a replay gets. Given requests, gives plans; no socket, no clock.

A request that is on the tape is served what was recorded. One that is not is the divergence: it is
refused, or, only when asked for, given the nearest recorded reply of its endpoint (`follow`), or
let through where it is a model call to a recorded model host (`live`). Nothing else ever leaves.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, Literal

from rerail.compare.canon import Request, canonical_host
from rerail.compare.match import Matcher
from rerail.compare.misses import Miss, explain
from rerail.compare.recorded import Match
from rerail.compare.side_calls import SideCall, side_call, stub_reply
from rerail.compare.volatile import Rules
from rerail.errors import NotOnTape, RerailError, TapeAltered
from rerail.llm.calls import ModelCall, is_turn, model_call
from rerail.llm.refusal import error_form, refusal
from rerail.playback.answers import Answer, Continue, GoLive, Refused, Served, Stubbed
from rerail.playback.conversation import NO_STATUS, Conversation, Heard, Say, Spoken
from rerail.playback.echo import in_present_names
from rerail.playback.failures import Failures
from rerail.playback.ledger import Ledger
from rerail.playback.likeness import likeness_of
from rerail.playback.onward import CannotGoOn, Edited, Onward
from rerail.playback.plan import Plan
from rerail.playback.report import BoundByArrival, Divergence, OutOfOrder, Recording
from rerail.playback.script import RecordedExchange, Script
from rerail.playback.steps import StepCounter
from rerail.tape.reader import Tape
from rerail.tape.records import ConnectionFailed
from rerail.wire.http1 import parse_head, status_line

Policy = Literal["stop", "follow", "live"]

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
POLICY_VIOLATION: Final = 1008
INTERNAL_ERROR: Final = 1011
"""Close codes of a WebSocket that is refused, and of one whose recording cannot be read
(RFC 6455 section 7.4.1)."""
_REASON_LIMIT: Final = 123
"""Bytes of a close frame's reason (RFC 6455 section 5.5)."""


class Player:
    """One replay of one tape. Called from one event loop, in the order in which requests come.

    `facts` are those of the machine now, `given` what the command was given (its arguments and
    variables): see `rerail.compare.alike`.
    """

    def __init__(
        self,
        tape: Tape,
        *,
        ignore: Iterable[str] = (),
        on_divergence: Policy = "stop",
        onward: Onward | None = None,
        facts: Mapping[str, str] | None = None,
        given: Iterable[str] = (),
    ) -> None:
        self.script = Script(tape)
        self.rules = Rules(ignore)
        self.policy = on_divergence
        self._onward = onward
        self.ledger = Ledger()
        self.conversations: dict[int, Conversation] = {}
        self.likeness = likeness_of(
            tape.run, self.rules, lasted=self.script.last_at, now=facts or {}, given=given
        )
        self._matcher = Matcher(self.script.recorded, self.rules, self.likeness)
        self._steps = StepCounter()
        self._model_hosts = self.script.model_hosts()
        self._failures = Failures(self.script)
        self.answers_early = any(item.early for item in self.script.exchanges.values())
        """Whether some recorded reply came before its request was complete."""

    def answer(self, request: Request) -> Answer:
        """What a request gets, now that it is complete."""
        number = self.ledger.next_request()
        host = canonical_host(request.host)
        side = side_call(request.method, host, request.path)
        if side is not None:
            return self._answer_side(number, request, side)
        outcome = self._matcher.match(request)
        if isinstance(outcome, Match) and not self._is_past(outcome):
            return self._serve(number, outcome)
        call = model_call(request.method, host, request.target, request.headers)
        if self._onward is not None:
            answered = self._go_on(self._onward, number, request, outcome, call)
            if answered is not None:
                return answered
        assert not isinstance(outcome, Match)
        return self._missed(number, request, outcome, call)

    def before_body(self, request: Request) -> Continue | Served | None:
        """What a request gets while only its head is there (its body is taken as empty).

        `Served` where the origin answered without the body, `Continue` where the client waits to be
        asked for it (RFC 9110 section 10.1.1) and the origin did ask, or nobody knows. None: wait
        for the body; `answer` will be called.
        """
        waits = request.header("expect").lower() == "100-continue"
        ahead = self._matcher.next_with_head(request)
        if ahead is None:
            return Continue(CONTINUE) if waits else None
        item = self.script.exchanges[ahead.exchange_id]
        if item.early or (waits and _answered_without_body(item)):
            self._matcher.take(ahead.exchange_id)
            return self._serve(self.ledger.next_request(), Match(ahead, "exact"))
        asked = [head.head for head in item.exchange.interim if _status(head.head) == 100]
        return Continue(asked[0]) if waits and asked else None

    def connecting(self, host: str, port: int) -> ConnectionFailed | None:
        """The recorded failure that a new connection to an origin meets, or None."""
        ahead = self._matcher.next_from(host, port)
        failure, again = self._failures.met(host, port, ahead.started if ahead else None)
        if again:
            self.ledger.notes[
                f"more connections to {host}:{port} failed than in the recording"
            ] += 1
        return failure

    def refuse_connection(self, place: str, why: str) -> None:
        """A connection that is not HTTP was refused: what would answer it, nobody can say."""
        self.ledger.answered[self.ledger.next_request()] = "refused"
        self.ledger.notes[f"a connection to {place} was refused: {why}"] += 1

    def damaged(self, served: Served, error: RerailError) -> None:
        """The recorded reply cannot be read, wholly or from some place on: it counts as refused."""
        self.ledger.answered[served.request] = "refused"
        self.ledger.matched.discard(served.plan.exchange_id)
        self.ledger.notes[f"recorded reply cannot be read (r{served.request}): {error.what}"] += 1

    def begin(self, served: Served) -> tuple[Say, ...]:
        """What the origin says first on a WebSocket whose upgrade was just answered."""
        return self._conversation(served).begin()

    def heard(
        self, served: Served, kind: Spoken, payload: bytes = b"", *, code: int = NO_STATUS
    ) -> Heard:
        """What follows from a message of the agent on a WebSocket.

        Where the message was not recorded, what there is to say is a close frame with the reason.
        """
        conversation = self._conversation(served)
        try:
            heard = conversation.heard(kind, payload, code=code)
            if heard.miss is not None:
                heard = self._in_another(served, conversation, kind, payload) or heard
        except (TapeAltered, NotOnTape) as error:
            self.damaged(served, error)
            return Heard((Say("close", code=INTERNAL_ERROR, reason=_close_reason(error.what)),))
        if self._goes_live(served, heard, payload):
            return Heard(goes_live=True, turn=heard.turn or conversation.here)
        self.ledger.rules.update(heard.rules)
        if heard.rules and self.ledger.answered[served.request] == "exact":
            self.ledger.answered[served.request] = "equivalent"
        if heard.turn:
            self.ledger.turns.add(heard.turn)
            self._steps.matched(self.script.turns[heard.turn])
        if heard.miss is None:
            return heard
        step = self._step_of_message(served, heard.miss)
        divergence = self._diverged(
            served.request, heard.miss, step, message=conversation.messages_heard
        )
        self.ledger.answered[served.request] = "refused"
        close = Say("close", code=POLICY_VIOLATION, reason=_close_reason(divergence.text))
        return Heard((close,), miss=heard.miss)

    def _goes_live(self, served: Served, heard: Heard, payload: bytes) -> bool:
        """Whether a rewind goes on live at a message: a recorded one, or any once it has begun."""
        if self._onward is None:
            return False
        if heard.turn:
            return self._onward.leaves(self.script.turns[heard.turn])
        return heard.miss is not None and self._onward.begun and self.is_turn(served, payload)

    def live_message(self, served: Served, payload: bytes, turn: int = 0) -> Edited | None:
        """What an origin is told in place of a message that makes the model generate.

        `turn` is the event that it stands for on the tape, where the origin has heard nothing
        before it. None for just what the agent says.

        Raises:
            CannotGoOn: It may not be told.
        """
        conversation, onward = self._conversation(served), self._onward
        call = self.script.exchanges[conversation.exchange_id].call
        assert onward is not None
        assert call is not None
        request = conversation.as_request(payload)
        onward.take_turn(self._steps.missed(request), call, request)
        self.ledger.answered[served.request] = "live"
        if not turn:
            return onward.edit_further(call, payload)
        try:
            return onward.edit_message(call, payload, list(conversation.said_before(turn)))
        except (TapeAltered, NotOnTape) as error:
            raise CannotGoOn(error.what, code="history_not_on_tape") from error

    def is_turn(self, served: Served, payload: bytes) -> bool:
        """Whether a message of a conversation makes the model generate."""
        call = self.script.exchanges[self._conversation(served).exchange_id].call
        return call is not None and is_turn(call.api, payload)

    def read_ahead(self) -> bool:
        """Do a little of what a later miss would need; False when there is nothing left.

        For idle moments: each call reads and compares one recorded body (at most a few ms).
        """
        return self._matcher.read_ahead()

    def unused(self) -> list[RecordedExchange]:
        """What was recorded and not asked for, in recorded order."""
        return [self.script.exchanges[item.exchange_id] for item in self._matcher.unused()]

    def _conversation(self, served: Served) -> Conversation:
        found = self.conversations.get(served.request)
        if found is None:
            found = self._open(self.script.exchanges[served.plan.exchange_id])
            self.conversations[served.request] = found
        return found

    def _open(self, item: RecordedExchange) -> Conversation:
        return Conversation(
            item.recorded,
            item.exchange.websocket,
            self.script.tape.blob,
            self.rules,
            item.call,
            self.likeness,
        )

    def _in_another(
        self, served: Served, conversation: Conversation, kind: Spoken, payload: bytes
    ) -> Heard | None:
        """Sessions are opened alike: where the agent speaks first, its first word tells which."""
        if conversation.messages_heard != 1 or conversation.spoke_first:
            return None
        for recorded in self._matcher.opened_alike(conversation.exchange_id):
            other = self._open(self.script.exchanges[recorded.exchange_id])
            if other.begin():
                continue
            heard = other.heard(kind, payload)
            if heard.miss is None:
                self._matcher.change(conversation.exchange_id, recorded.exchange_id)
                self.ledger.matched.discard(conversation.exchange_id)
                self.ledger.matched.add(recorded.exchange_id)
                self.conversations[served.request] = other
                return heard
        return None

    def _answer_side(self, number: int, request: Request, side: SideCall) -> Answer:
        match = self._matcher.match_endpoint(request)
        self.ledger.answered[number] = "side call"
        self.ledger.rules[side.name] += 1
        if match is None:
            return Stubbed(number, side, stub_reply(side))
        return Served(number, self._plan(number, match.recorded.exchange_id), match)

    def _serve(self, number: int, match: Match) -> Served:
        exchange_id = match.recorded.exchange_id
        ledger = self.ledger
        ledger.answered[number] = match.verdict
        ledger.matched.add(exchange_id)
        if match.rules:
            ledger.rules.update(match.rules)
        if match.by_arrival:
            ledger.bound_by_arrival.append(BoundByArrival(request=number, exchange=exchange_id))
        if match.passed_over is not None:
            ledger.out_of_order.append(
                OutOfOrder(request=number, exchange=exchange_id, before=match.passed_over)
            )
        attempt = self.script.exchanges[exchange_id].step
        step = self._steps.matched(attempt.step) if attempt and not attempt.turns else None
        return Served(number, self._plan(number, exchange_id), match, step)

    def _step_of_message(self, served: Served, miss: Miss) -> int | None:
        """The number of the model call that a message would have been."""
        item = self.script.exchanges[served.plan.exchange_id]
        if item.call is None or not is_turn(item.call.api, miss.request.body or b""):
            return served.step
        return self._steps.missed(miss.request)

    def _plan(self, number: int, exchange_id: int) -> Plan:
        """The recorded reply, in the agent's own names where they differ."""
        plan = self.script.plan(exchange_id)
        renaming = self.likeness.renaming
        return in_present_names(plan, renaming, lambda: self.ledger.echoed.add(number))

    def _missed(self, number: int, request: Request, miss: Miss, call: ModelCall | None) -> Answer:
        step = self._steps.missed(request) if call and not self._is_aside(miss) else None
        answered = self._policy_for(request, miss, call)
        self.ledger.answered[number] = answered
        divergence = self._diverged(number, miss, step, answered=answered)
        if answered == "live":
            return GoLive(number, divergence)
        if answered == "followed" and miss.nearest is not None:
            self._matcher.take(miss.nearest.exchange_id)
            plan = self._plan(number, miss.nearest.exchange_id)
            return Served(number, plan, None, step, followed=True)
        text = f"it is not on the tape that is being replayed. {divergence.text}"
        reply = refusal(
            text,
            code=miss.kind,
            form=error_form(call, request.headers),
            method=request.method,
        )
        return Refused(number, divergence, reply)

    def _is_aside(self, miss: Miss) -> bool:
        """Whether a call that was missed is most like one beside the main ones."""
        near = self.script.exchanges[miss.nearest.exchange_id] if miss.nearest else None
        return near is not None and bool(near.lane)

    def _is_past(self, match: Match) -> bool:
        """Whether a recorded model call lies behind the point where a rewind goes on live.

        A session is left at one of its messages, where these tell its turns.
        """
        attempt = self.script.exchanges[match.recorded.exchange_id].step
        if self._onward is None or attempt is None or attempt.turns:
            return False
        return self._onward.leaves(attempt.step)

    def _go_on(
        self,
        onward: Onward,
        number: int,
        request: Request,
        outcome: Match | Miss,
        call: ModelCall | None,
    ) -> Answer | None:
        """What a rewind makes of a request that the tape does not answer; None leaves it a miss."""
        if call is None:
            if not onward.allows(request):
                return None
            self.ledger.answered[number] = "live"
            return GoLive(number)
        if (request.host, request.port) not in self._model_hosts:
            return None
        if not (isinstance(outcome, Match) or onward.begun):
            return None
        try:
            onward.take_turn(self._steps.missed(request), call, request)
        except CannotGoOn as reason:
            return self.stop_going_on(number, reason, call, request)
        self.ledger.answered[number] = "live"
        return GoLive(number, edit=partial(onward.edit, call))

    def stop_going_on(
        self, number: int, reason: CannotGoOn, call: ModelCall | None, request: Request
    ) -> Refused:
        """A request that may not go on live is refused, and that is noted."""
        self.ledger.answered[number] = "refused"
        self.ledger.notes[f"refused: {reason}"] += 1
        form = error_form(call, request.headers)
        reply = refusal(str(reason), code=reason.code, form=form, method=request.method)
        return Refused(number, None, reply)

    def _policy_for(
        self, request: Request, miss: Miss, call: ModelCall | None
    ) -> Literal["refused", "followed", "live"]:
        if self.policy == "live" and call and (request.host, request.port) in self._model_hosts:
            return "live"
        nearest = miss.nearest.request if miss.nearest else None
        asked = (request.method, request.host, request.port, request.path)
        if (
            self.policy == "follow"
            and nearest
            and asked
            == (
                nearest.method,
                nearest.host,
                nearest.port,
                nearest.path,
            )
        ):
            return "followed"
        return "refused"

    def _diverged(
        self,
        number: int,
        miss: Miss,
        step: int | None,
        *,
        answered: Literal["refused", "followed", "live"] = "refused",
        message: int | None = None,
    ) -> Divergence:
        request = miss.request
        nearest = miss.nearest and self.script.exchanges[miss.nearest.exchange_id]
        divergence = Divergence(
            request=number,
            step=step,
            message=message,
            kind=miss.kind,
            text=explain(miss),
            method=request.method,
            url=request.url,
            process=request.process_id,
            field=miss.field,
            differences=list(miss.differences),
            nearest=describe(nearest) if nearest else None,
            answered=answered,
        )
        self.ledger.divergences.append(divergence)
        return divergence


def describe(item: RecordedExchange) -> Recording:
    """A recorded request as a report names it."""
    request = item.recorded.request
    return Recording(
        exchange=item.exchange.exchange_id,
        event=item.event,
        method=request.method,
        url=request.url,
        step=item.step.step if item.step else None,
        attempt=item.step.attempt if item.step else 1,
        lane=item.lane,
    )


def _answered_without_body(item: RecordedExchange) -> bool:
    exchange = item.exchange
    asked = any(_status(head.head) == 100 for head in exchange.interim)
    return exchange.reply is not None and exchange.request_body is None and not asked


def _close_reason(text: str) -> str:
    return f"rerail: {text}".encode()[:_REASON_LIMIT].decode("utf-8", "ignore")


def _status(head: bytes) -> int:
    return status_line(parse_head(head)).status
