"""The model behind an experiment: asks, and asks again where its service falters for a while.

Every request and reply goes onto the tape of the run that asks, attempts that failed as well.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rerail.errors import UserError
from rerail.experiment.ask import Messages, completion, request
from rerail.experiment.contract import Model
from rerail.llm.view import Completion
from rerail.proxy.asking import NoReply, Reply, ask
from rerail.proxy.reach import UpstreamSettings
from rerail.proxy.upstream import Dialer
from rerail.wire.http1 import Head

if TYPE_CHECKING:
    from rerail.capture.recorder import Recorder

PAUSES: Final = (1.0, 4.0, 15.0, 60.0, 60.0)
"""Seconds before each further attempt, where the service does not name its own."""

PATIENCE: Final = 2
"""Pauses after which nobody is there, where no request could be sent."""

LONGEST_PAUSE: Final = 60.0
_PASSING: Final = frozenset((408, 409, 425, 429))
_YOURS: Final = frozenset((401, 403, 404))
_SAID: Final = 200


class NotReached(UserError):
    """The model cannot be asked at all: no run of any arm would fare better."""


class ModelBroke(Exception):
    """The model's service failed this run; an exception of the agent's own, and its end."""


class Asker:
    """One model, asked from many threads.

    Args:
        model: Which, with its `url` as it is to be reached.
        key: The key; empty for none.
        upstream: How origins are reached.
        pause: Waits so many seconds, or raises Stopped.
    """

    def __init__(
        self,
        model: Model,
        *,
        key: str,
        upstream: UpstreamSettings,
        pause: Callable[[float], object],
    ) -> None:
        self._model = model
        self._key = key
        self._upstream = upstream
        self._pause = pause

    def answer(
        self, messages: Messages, *, seed: int, actions: Mapping[str, Any], recorder: "Recorder"
    ) -> Completion:
        """What the model says.

        Raises:
            NotReached: Nobody is there, the key is not good, or there is no such model.
            ModelBroke: It answered otherwise than with a completion, to the last attempt.
        """
        trouble = ""
        for number, wait in enumerate((*PAUSES, None)):
            try:
                reply = self._ask(messages, seed, actions, recorder)
            except NoReply as error:
                if not error.sent and number == PATIENCE:
                    raise _not_reached(self._model, error.reason) from error
                trouble, after = error.reason, None
            else:
                if reply.status == 200:
                    return self._said(reply)
                trouble, after = self._refused(reply), _retry_after(reply.head)
            if wait is not None:
                self._pause(wait if after is None else after)
        raise ModelBroke(trouble)

    def _ask(
        self, messages: Messages, seed: int, actions: Mapping[str, Any], recorder: "Recorder"
    ) -> Reply:
        asked = request(
            self._model,
            messages,
            key=self._key,
            seed=seed,
            actions=actions,
            connection=recorder.exchanges + 1,
        )
        dialer = Dialer(self._upstream)
        return ask(asked.route, asked.content, recorder, dialer, seconds=self._model.timeout)

    def _said(self, reply: Reply) -> Completion:
        kind = (reply.head.get(b"content-type") or b"").decode("latin-1")
        said = completion(self._model, reply.body, kind)
        if said is None or said.message is None:
            raise ModelBroke(f"a reply that is no completion: {_beginning(reply.body)}")
        return said

    def _refused(self, reply: Reply) -> str:
        """The refusal in words, where asking again may help. Raises where it cannot."""
        said = f"status {reply.status}: {_beginning(reply.body)}"
        if reply.status in _YOURS:
            raise _not_reached(self._model, said)
        if reply.status < 500 and reply.status not in _PASSING:
            raise ModelBroke(said)
        return said


def _not_reached(model: Model, reason: str) -> NotReached:
    return NotReached(
        f"the model at {model.url} cannot be asked: {reason}",
        hint="see to `model` in the experiment, then run it again: nothing that was done is lost",
    )


def _retry_after(head: Head) -> float | None:
    """Seconds that the service names itself (RFC 9110 section 10.2.3), if it names seconds."""
    with suppress(ValueError):
        return min(LONGEST_PAUSE, max(0.0, float(head.get(b"retry-after") or b"")))
    return None


def _beginning(body: bytes) -> str:
    return " ".join(body.decode("utf-8", "replace").split())[:_SAID]
