"""The logs of probes on their way to a tape."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.capture.exchange import ExchangeRecord
from rerail.capture.probes import ProbeLogs, Turns
from rerail.capture.recorder import Recorder
from rerail.clock import RunClock
from rerail.launch.run_folder import ProbeSettings, RunFolder
from rerail.probe.log import Hello, hello_line, read_hello, turns_in
from rerail.proxy.handler import Route
from rerail.redact.apply import Redactor
from rerail.tape.reader import Tape
from rerail.tape.records import CaptureMissing, Event, ProbeLog, ProcessStarted, RunStarted
from rerail.tape.writer import TapeWriter
from rerail.wire.http1 import parse_head
from rerail.wire.websocket import Encoder

SECRET = "sk-proj-AbC_123-xyz/0=9"
HELLO = Hello(pid=77, ppid=76, argv=["python3", "tool.py"], key="ab" * 8, n=0, cwd="/w")


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    writer = TapeWriter.create(tmp_path / "run.tape")
    recorder = Recorder(writer, Redactor.create(key=b"k" * 32, secrets=[SECRET]), RunClock())
    recorder.emit(
        lambda at, wall: RunStarted(
            at=at, wall=wall, run_id="r", task_id="t", writer="w", argv=["x"], cwd="/"
        )
    )
    return recorder


@pytest.fixture
def read(recorder: Recorder) -> Callable[[], tuple[list[Event], list[bytes]]]:
    """Close the tape: its events after the first, and the contents of its logs."""

    def finish() -> tuple[list[Event], list[bytes]]:
        recorder.writer.close()
        with Tape.open(recorder.writer.path) as tape:
            events = list(tape.events(start=2))
            logs = [event for event in events if isinstance(event, ProbeLog)]
            assert [event.size for event in logs] == [len(tape.blob(e.content)) for e in logs]
            return events, [tape.blob(event.content) for event in logs]

    return finish


def test_lines_are_kept_as_they_were(recorder: Recorder, read: Callable[..., tuple]) -> None:
    lines = b"s\t1\ta.py:f:0011aabb\nt\t0\t1\t1795984342743656519\nr\t0\t1\tab\nchild\t{}\n"
    ProbeLogs(recorder).keep(1, lines)
    (event,), (log,) = read()
    assert isinstance(event, ProbeLog)
    assert (event.process_id, log, event.drawn) == (1, lines, 1)


def test_a_hello_is_a_process_that_began(recorder: Recorder, read: Callable[..., tuple]) -> None:
    logs = ProbeLogs(recorder)
    logs.keep(1, hello_line(Hello(pid=76)))
    logs.keep(2, hello_line(HELLO))
    events, _ = read()
    (started,) = [event for event in events if isinstance(event, ProcessStarted)]
    assert (started.process_id, started.parent_process_id, started.pid) == (2, 1, 77)
    assert (started.argv, started.cwd) == (["python3", "tool.py"], "/w")
    assert logs.numbers == {76: 1, 77: 2}


def test_a_secret_in_an_argument_is_on_the_tape_nowhere(
    recorder: Recorder, read: Callable[..., tuple]
) -> None:
    hello = Hello(pid=1, argv=["x", SECRET], cwd=f"/{SECRET}", executable=SECRET)
    other = f"child\t{SECRET}\nmissing\t{SECRET}\tto {SECRET}\n".encode()
    ProbeLogs(recorder).keep(2, hello_line(hello) + other)
    events, (log,) = read()
    assert SECRET not in str(events)
    assert SECRET.encode() not in log
    read_again = read_hello(log.partition(b"\n")[0])
    assert read_again is not None
    assert read_again.argv[0] == "x"


def test_what_passed_by_is_an_event_and_not_kept_twice(
    recorder: Recorder, read: Callable[..., tuple]
) -> None:
    ProbeLogs(recorder).keep(3, b"missing\ta direct connection\tto 192.0.2.1:80\n")
    (event,), logs = read()
    assert isinstance(event, CaptureMissing)
    assert (event.what, event.detail, event.process_id) == (
        "a direct connection", "to 192.0.2.1:80", 3,
    )  # fmt: skip
    assert logs == []


def test_a_line_that_is_no_log_line_is_kept_all_the_same(
    recorder: Recorder, read: Callable[..., tuple]
) -> None:
    lines = b"hello\tnot json\nhello\n\xff\xfe\tx\n\n"
    ProbeLogs(recorder).keep(1, lines)
    assert read()[1] == [lines]


def test_a_model_call_is_a_turn_and_brings_the_news(
    recorder: Recorder, read: Callable[..., tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with RunFolder.make(ProbeSettings(mode="record", seed="")) as folder:
        turns = Turns(recorder, folder)
        (folder.path / "p" / "2.log").write_bytes(b"t\t0\t1\t5\nt\t0")
        route = Route(1, "https", "api.openai.com", 443, 2)
        recorder.asked = turns.begins
        _post(recorder, route, b"/v1/embeddings")
        assert folder.page.turn == 0
        _post(recorder, route, b"/v1/responses?x")
        assert folder.page.turn == 1
        (folder.path / "p" / "2.log").write_bytes(b"t\t0\t1\t5\nt\t0\t1\t6\n")
        turns.keep_news()
    assert read()[1] == [b"t\t0\t1\t5\n", b"t\t0\t1\t6\n"]


def _post(recorder: Recorder, route: Route, target: bytes) -> None:
    head = parse_head(b"POST " + target + b" HTTP/1.1\r\n\r\n")
    recorder.exchange(route, head, "none").request_end("none", b"", b"")


def test_calls_side_by_side_are_one_turn(
    recorder: Recorder, read: Callable[..., tuple], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with RunFolder.make(ProbeSettings(mode="record", seed="")) as folder:
        turns = Turns(recorder, folder)
        recorder.asked = turns.begins
        ask = parse_head(b"POST /v1/responses HTTP/1.1\r\n\r\n")

        def begin(process: int) -> ExchangeRecord:
            exchange = recorder.exchange(
                Route(1, "https", "api.openai.com", 443, process), ask, "none"
            )
            exchange.request_end("none", b"", b"")
            return exchange

        (folder.path / "p" / "2.log").write_bytes(hello_line(HELLO))
        first, second = begin(2), begin(2)
        begin(3)
        first.failed("agent_closed", "it left")
        third = begin(2)
        assert [folder.turn_of(process) for process in (2, 3)] == [1, 1]
        for exchange in (second, third):
            exchange.reply_head(parse_head(b"HTTP/1.1 204 No Content\r\n\r\n"), interim=False)
            exchange.reply_end("none", b"", b"", "complete")
        begin(2)
        begin(0)
        begin(0)
        assert [folder.turn_of(process) for process in (2, 3, 0)] == [2, 1, 2]
        assert folder.page.turn == 7
        turns.keep_news()
    assert turns_in(b"".join(read()[1])) == [1, 1, 1, 2]


def test_a_text_that_makes_the_model_generate_is_a_turn(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    upgrade = parse_head(b"GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
    reply = parse_head(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
    texts = [b'{"type": "response.create", "generate": false}', b'{"type": "response.create"}']
    with RunFolder.make(ProbeSettings(mode="record", seed="")) as folder:
        recorder.asked = Turns(recorder, folder).begins
        exchange = recorder.exchange(Route(1, "https", "api.openai.com", 443, 3), upgrade, "none")
        exchange.request_end("none", b"", b"")
        exchange.switched(reply)
        turns = []
        for text in texts:
            for sender in ("origin", "agent"):
                for frame in Encoder(sender, "").message("text", text):
                    exchange.switched_data(sender, frame)
                turns.append(folder.page.turn)
    assert turns == [0, 0, 0, 1]
