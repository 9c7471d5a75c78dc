"""What an agent is told on one connection of a replay: reply after reply, each as it was given.

As fast as the agent reads, the pace allows and the recorded order lets them; at its end the
connection goes the way it went. A reply may be a conversation, or come from a live origin.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rerail.errors import NotOnTape, TapeAltered
from rerail.llm.calls import model_call
from rerail.playback.answers import Answer, GoLive, Refused, Served
from rerail.playback.arriving import Arriving
from rerail.playback.dialogue import Dialogue
from rerail.playback.onward import CannotGoOn, Edited, Hear, Line
from rerail.playback.plan import Piece, Plan
from rerail.proxy.answers import refusal
from rerail.proxy.handler import Route, Wire
from rerail.proxy.overhear import Overhearing
from rerail.tape.records import BodyEnd
from rerail.wire.http1 import parse_head

if TYPE_CHECKING:
    from rerail.playback.stage import Stage


class Replies:
    """The replies of one connection. `dialogue` is there from when it is a WebSocket's.

    `take_held` gives what the agent has said behind the request that switched.
    """

    def __init__(
        self,
        stage: "Stage",
        route: Route,
        wire: Wire,
        heard: Overhearing | None,
        take_held: Callable[[], bytes],
    ) -> None:
        self._stage = stage
        self.route = route
        self._wire = wire
        self._heard = heard
        self._take_held = take_held
        self._queue: deque[tuple[Arriving, Answer]] = deque()
        self._pieces: Iterator[Piece] | None = None
        self._served: Served | None = None
        self._begun = False
        self._held: Piece | None = None
        self.dialogue: Dialogue | None = None
        self._upgrade = b""
        self._timer = stage.pace.timer()
        self._ready = True
        self._busy = False
        self.over = False

    @property
    def idle(self) -> bool:
        """Whether nothing is being said, and nothing is to be said."""
        return not self._busy and not self._queue

    def writable(self, ready: bool) -> None:
        """Whether the agent reads."""
        self._ready = ready
        if self.dialogue is not None:
            self.dialogue.writable(ready)
        elif ready:
            self._pump()

    def finish(self, ended: BodyEnd, reason: str) -> None:
        """The connection is over, and how."""
        self.over = True
        if self._served is not None:
            self._stage.order.happened(self._served.plan.exchange_id, "head", "end")
        if self._heard is not None:
            self._heard.finish(ended, reason)

    def add(self, arriving: Arriving, answer: Answer) -> None:
        """Answer a request, once those before it are answered."""
        if isinstance(answer, Served):
            self._stage.order.happened(answer.plan.exchange_id, "request")
        elif isinstance(answer, GoLive):
            self._stage.order.went_live()  # at once: a reply that is waited for may hold this up
        elif isinstance(answer, Refused) and answer.divergence and answer.divergence.nearest:
            self._stage.order.missed(answer.divergence.nearest.exchange)
        self._queue.append((arriving, answer))
        self._pump()

    def _pump(self) -> None:
        """Send what is due, as fast as the agent reads and the pace allows; then what is next."""
        while self._ready and not self.over and self.dialogue is None:
            if self._pieces is None:
                if self._busy or not self._queue:
                    return
                self._begin(*self._queue.popleft())
                continue
            try:
                piece = self._held or next(self._pieces, None)
            except (TapeAltered, NotOnTape) as error:
                self._break_off(error)
                return
            if piece is None:
                self._end()
                continue
            assert self._served is not None
            exchange = self._served.plan.exchange_id
            if self._stage.order.holds(exchange, piece.at, self._pump) or self._timer.holds(
                piece.at, self._go_on
            ):
                self._held = piece
                return
            self._held = None
            self._say(piece)

    def _go_on(self) -> None:
        """The time of the held piece has come."""
        held, self._held = self._held, None
        if held is None or self.over:
            return
        self._say(held)
        self._pump()

    def _say(self, piece: Piece) -> None:
        self._wire.write(piece.data)
        if not self._begun and self._served is not None:
            self._stage.order.happened(self._served.plan.exchange_id, "head")
        self._begun = True

    def _break_off(self, error: TapeAltered | NotOnTape) -> None:
        """The tape does not hold what was recorded: nothing else is passed off as the reply."""
        assert self._served is not None
        self._stage.player.damaged(self._served, error)
        if self._begun:
            self.finish("reset", error.what)
            self._wire.reset()
        else:
            self._wire.write(refusal(b"400 Bad Request", error.what))
            self._close_as_recorded()

    def _begin(self, arriving: Arriving, answer: Answer) -> None:
        hold, what = self._stage.hold, arriving.head.start.decode("latin-1")
        if hold and hold.holds(answer.request, what, lambda: self._let_go(arriving, answer)):
            self._busy = True
            if isinstance(answer, Served):  # others are answered meanwhile
                self._stage.order.happened(answer.plan.exchange_id, "head", "end")
        else:
            self._give(arriving, answer)

    def _let_go(self, arriving: Arriving, answer: Answer) -> None:
        self._busy = False
        self._give(arriving, answer)
        self._pump()

    def _give(self, arriving: Arriving, answer: Answer) -> None:
        playhead = self._stage.playhead
        if isinstance(answer, GoLive):
            self._go_live(arriving, answer)
        elif isinstance(answer, Served):
            self._busy = True
            plan = answer.plan
            if playhead is not None:
                playhead.serving(plan.exchange_id)
            self._put_back(plan.exchange_id)
            self._served, self._begun = answer, False
            self._timer.begin(plan.requested_at)
            if plan.is_websocket:
                self._switch(arriving, answer, plan)
            else:
                self._pieces = plan.writes(arriving.interim_sent)
        else:
            self._wire.write(answer.reply)

    def _go_live(self, arriving: Arriving, answer: GoLive) -> None:
        assert self._stage.live is not None
        try:
            self.going_live()
            edited = answer.edit(arriving.raw) if answer.edit else None
        except CannotGoOn as reason:
            player, request = self._stage.player, arriving.request()
            call = model_call(request.method, request.host, request.target, request.headers)
            refused = player.stop_going_on(answer.request, reason, call, request)
            self._wire.write(refused.reply)
            return
        if edited is not None:
            self.edited(edited)
        self._busy = True
        raw = edited.raw if edited is not None else arriving.raw
        self._stage.live.call(self.route, raw, self._wire, self._live_done)

    def going_live(self) -> None:
        """Something is about to go on live from here. Raises CannotGoOn."""
        self._stage.order.went_live()
        if self._stage.playhead is not None:
            self._stage.playhead.went_live()
        if self._stage.going_live is not None and self._stage.going_live():
            self._restored()

    def edited(self, edited: Edited) -> None:
        """The origin is sent this in place of what the agent said last."""
        if self._heard is not None:
            self._heard.edited(edited.body, edited.why)

    def line(self, hear: Hear) -> Line:
        """A live conversation with the origin, opened as the agent's own was."""
        assert self._stage.live is not None
        return self._stage.live.converse(self.route, self._upgrade, hear)

    def _put_back(self, exchange_id: int) -> None:
        try:
            if self._stage.put_back is not None and self._stage.put_back.serving(exchange_id):
                self._restored()
        except (OSError, TapeAltered, NotOnTape) as error:
            self._stage.player.ledger.notes[f"files cannot be put in place: {error}"] += 1

    def _restored(self) -> None:
        if self._heard is not None:
            self._heard.restored()

    def _live_done(self) -> None:
        self._busy = False
        self._pump()

    def _switch(self, arriving: Arriving, answer: Served, plan: Plan) -> None:
        self._upgrade = arriving.raw
        key = arriving.head.get(b"sec-websocket-key") or b""
        self._wire.write(plan.switching_head(key))
        assert plan.head is not None
        agreed = parse_head(plan.head.data).get_all(b"sec-websocket-extensions")
        extensions = b", ".join(agreed).decode("latin-1")
        self.dialogue = Dialogue(
            self._stage.player,
            answer,
            extensions,
            self._wire,
            self._timer,
            ready=self._ready,
            listener=self._listener(arriving),
            goings=self if self._stage.live is not None else None,
        )
        self.dialogue.begin()
        held = self._take_held()
        if held:
            self.dialogue.received(held)

    def _listener(self, arriving: Arriving) -> Callable[[bytes], None] | None:
        playhead = self._stage.playhead
        return playhead.listener(arriving.request()) if playhead else None

    def _end(self) -> None:
        """The reply is sent: the connection goes the way it went."""
        served, self._served, self._pieces = self._served, None, None
        assert served is not None
        plan = served.plan
        self._stage.order.happened(plan.exchange_id, "end")
        if plan.ended == "reset":
            self.finish("reset", "the recorded reply ended with a reset")
            self._wire.reset()
        elif plan.ended == "truncated":
            self.finish("truncated", "the recorded reply ended without TLS's close_notify")
            self._wire.cut()
        elif plan.ended == "cut" or plan.framing == "close" or plan.closes:
            self._close_as_recorded()
        elif plan.ended == "complete":
            self._busy = False
        # After a time-out, or where the agent left first, nothing more is said.

    def _close_as_recorded(self) -> None:
        if self._heard is not None:
            self._heard.origin_ended()
        self.over = True
        self._wire.close()
