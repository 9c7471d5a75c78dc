"""A model is asked again while its service falters, and every attempt is on the tape."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.experiment.contract import Model
from rerail.experiment.model import PAUSES, Asker, ModelBroke, NotReached
from rerail.experiment.schedule import Stopped
from rerail.proxy.reach import UpstreamSettings
from rerail.redact.apply import Redactor
from rerail.tape.records import HttpReplyHead, HttpRequest, RunStarted
from rerail.tape.writer import TapeWriter
from rerail.testing import replies
from rerail.testing.model import SimulatedModel, Trouble
from rerail.testing.origin import Origin
from rerail.testing.replies import serve

MESSAGES = [{"role": "user", "content": "hello"}]


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    writer = TapeWriter.create(tmp_path / "run.tape")
    found = Recorder(writer, Redactor.create(key=bytes(32)), RunClock(), log=events.append)
    events.clear()
    found.emit(
        lambda at, wall: RunStarted(
            at=at, wall=wall, run_id="r", task_id="t", writer="w", argv=[], cwd="/"
        )
    )
    yield found
    writer.close()


events: list[object] = []


class Asked:
    """An asker, and how long it waited between attempts."""

    def __init__(self, url: str, recorder: Recorder) -> None:
        self.paused: list[float] = []
        self._recorder = recorder
        model = Model(url=url, name="any", timeout=10)
        self._model = model
        self.pause_with(self.paused.append)

    def pause_with(self, pause: Callable[[float], object]) -> None:
        upstream = UpstreamSettings()
        self._asker = Asker(self._model, key="k-123", upstream=upstream, pause=pause)

    def answer(self) -> str:
        said = self._asker.answer(MESSAGES, seed=1, actions={}, recorder=self._recorder)
        assert said.message is not None
        return said.message.text


StartModel = Callable[..., SimulatedModel]
StartOrigin = Callable[..., Origin]


def test_an_answer_and_its_exchange(start_model: StartModel, recorder: Recorder) -> None:
    asked = Asked(start_model(seed=1).url + "/v1", recorder)
    assert asked.answer()
    (request,) = [event for event in events if isinstance(event, HttpRequest)]
    assert request.head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"k-123" not in request.head
    assert request.component == "agent"


def test_what_passes_is_waited_for(start_model: StartModel, recorder: Recorder) -> None:
    troubles = [Trouble(status=429, retry_after=3), Trouble(status=500), Trouble(status=529)]
    asked = Asked(start_model(seed=1, troubles=troubles).url + "/v1", recorder)
    assert asked.answer()
    assert asked.paused == [3.0, 4.0, 15.0]
    assert len([event for event in events if isinstance(event, HttpReplyHead)]) == 4


def test_a_pause_that_is_asked_for_has_a_bound(start_model: StartModel, recorder: Recorder) -> None:
    troubles = [Trouble(status=429, retry_after=86_400)]
    asked = Asked(start_model(seed=1, troubles=troubles).url + "/v1", recorder)
    asked.answer()
    assert asked.paused == [60.0]


def test_what_does_not_pass_breaks_the_run(start_model: StartModel, recorder: Recorder) -> None:
    asked = Asked(start_model(seed=1, troubles=[Trouble(status=500)] * 6).url + "/v1", recorder)
    with pytest.raises(ModelBroke, match="status 500"):
        asked.answer()
    assert asked.paused == list(PAUSES)


def test_a_bad_request_is_not_asked_again(start_model: StartModel, recorder: Recorder) -> None:
    asked = Asked(start_model(seed=1, troubles=[Trouble(status=400)]).url + "/v1", recorder)
    with pytest.raises(ModelBroke, match="status 400"):
        asked.answer()
    assert asked.paused == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_only_a_person_can_mend_stops_everything(
    start_model: StartModel, recorder: Recorder, status: int
) -> None:
    asked = Asked(start_model(seed=1, troubles=[Trouble(status=status)]).url + "/v1", recorder)
    with pytest.raises(NotReached, match=f"status {status}") as caught:
        asked.answer()
    assert caught.value.hint


def test_nobody_there(free_port: int, recorder: Recorder) -> None:
    asked = Asked(f"http://127.0.0.1:{free_port}/v1", recorder)
    with pytest.raises(NotReached, match="cannot connect"):
        asked.answer()
    assert len(asked.paused) == 2


def test_a_pause_may_end_all_of_it(start_model: StartModel, recorder: Recorder) -> None:
    asked = Asked(start_model(seed=1, troubles=[Trouble(status=500)]).url + "/v1", recorder)

    def stopped(seconds: float) -> None:
        raise Stopped

    asked.pause_with(stopped)
    with pytest.raises(Stopped):
        asked.answer()
    assert len([event for event in events if isinstance(event, HttpRequest)]) == 1


def test_a_reply_that_is_none_breaks_the_run(start_origin: StartOrigin, recorder: Recorder) -> None:
    origin = start_origin(serve(replies.text("<html>hello</html>")))
    with pytest.raises(ModelBroke, match="no completion: <html>hello</html>"):
        Asked(origin.url + "/v1", recorder).answer()
