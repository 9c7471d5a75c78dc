"""What probes are told in a replay: turns, times, and what each process was given."""

import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rerail.compare.canon import Request
from rerail.launch.run_folder import HEAD_SIZE, REAL_CLOCK
from rerail.playback.probes import Playhead, recorded_logs
from rerail.playback.script import Script
from rerail.probe.log import Hello, hello_line, turns_in
from rerail.tape.records import ProbeLog

KEY = "ab" * 8


class Made:
    """A tape with logs of probes on it; `tape` is its maker."""

    def __init__(self, tape: Any) -> None:
        self.tape = tape

    def log(self, process_id: int, lines: bytes) -> None:
        digest = self.tape.writer.blob(self.tape.redactor.body(lines))
        self.tape.add(ProbeLog, process_id=process_id, content=digest, size=len(lines))

    def playhead(self) -> Playhead | None:
        return Playhead.of(Script(self.tape.finish()), log=False)


@pytest.fixture
def made(tape_maker: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return Made(tape_maker())


@pytest.fixture
def start(made: Made) -> Iterator[Callable[[], Playhead]]:
    """`start()` ends the tape, on which process 1 has a log, and begins a replay of it."""
    with ExitStack() as stack:

        def begin() -> Playhead:
            made.log(1, hello_line(Hello(key=KEY)))
            playhead = made.playhead()
            assert playhead is not None
            stack.callback(playhead.folder.remove)
            return playhead

        yield begin


def test_a_log_is_given_back_whole_under_the_name_of_its_process(made: Made) -> None:
    hello = hello_line(Hello(key=KEY, n=3))
    made.log(2, hello + b"t\t0\t1\t5\n")
    made.log(1, b"no hello\n")
    made.log(2, b"t\t1\t1\t6\n")
    assert recorded_logs(made.tape.finish()) == {f"{KEY}.3": hello + b"t\t0\t1\t5\nt\t1\t1\t6\n"}


def test_a_job_of_a_pool_is_given_back_by_its_own_name(made: Made) -> None:
    """Its next process may be another: what two say of it is one log."""
    job = f"@{KEY}"
    for process in (1, 2):
        lines = f"s\t1\ta.py:f:-\t{job}\nt\t0\t1\t{process}\n".encode()
        made.log(process, hello_line(Hello(key=KEY, n=process)) + lines)
    logs = recorded_logs(made.tape.finish())
    assert set(logs) == {f"{KEY}.1", f"{KEY}.2", job}
    assert [line[-1:] for line in logs[job].splitlines() if line[:1] == b"t"] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("key", "n"),
    [("../../escaped", 0), ("AB" * 8, 0), ("", 0), ("ab" * 9, 0), (KEY, -1), (KEY, 10**18)],
)
def test_a_name_that_no_probe_makes_is_not_a_files(made: Made, key: str, n: int) -> None:
    """The tape may be a stranger's, and the name becomes that of a file."""
    made.log(2, hello_line(Hello(key=key, n=n)))
    assert recorded_logs(made.tape.finish()) == {}


def test_a_tape_without_probes_has_no_folder(made: Made) -> None:
    assert made.playhead() is None


def test_time_stands_where_the_recording_was(made: Made, start: Callable[[], Playhead]) -> None:
    tape = made.tape
    begun, walls = tape.at, []
    for number in range(2):
        tape.request({"n": number})
        walls.append(tape.at)
        tape.reply()
        walls.append(tape.at)
    playhead = start()
    page = playhead.folder.page
    assert (page.wall_base, page.wall_limit) == (begun, walls[0])
    playhead.serving(1)
    assert (page.wall_base, page.wall_limit) == (walls[1], walls[2])
    playhead.serving(2)
    assert (page.wall_base, page.wall_limit) == (walls[3], 0)
    playhead.went_live()
    assert page.flags == REAL_CLOCK


def test_a_turn_is_a_model_call_of_a_process(
    start: Callable[[], Playhead], ask: Callable[..., Request]
) -> None:
    playhead = start()
    playhead.asked(ask({"n": 1}, process_id=3))
    playhead.asked(ask({"n": 1}, target="/v1/embeddings", process_id=3))
    playhead.asked(ask(method="GET", process_id=3))
    page = (playhead.folder.path / "page").read_bytes()
    assert struct.unpack_from("<4Q", page, HEAD_SIZE) == (0, 0, 0, 1)


def test_a_turn_is_what_it_was_after_as_many_calls(made: Made, ask: Callable[..., Request]) -> None:
    """Whoever asks is known by the name in its hello: its number may be another one."""
    made.log(2, hello_line(Hello(key=KEY, n=4)) + b"k\t1\nk\t1\nk\t2\n")
    playhead = made.playhead()
    assert playhead is not None
    with playhead.folder as folder:
        (folder.path / "p" / "7.log").write_bytes(hello_line(Hello(key=KEY, n=4)))
        turns = []
        for number in range(5):
            playhead.asked(ask({"n": number}, process_id=7))
            turns.append(folder.turn_of(7))
        kept = []
        assert list(playhead.missed(lambda _, lines: kept.append(lines))) == []
    assert turns == [1, 1, 2, 3, 4]
    assert turns_in(kept[0]) == turns


def test_a_text_that_makes_the_model_generate_is_a_turn(
    start: Callable[[], Playhead], ask: Callable[..., Request]
) -> None:
    playhead = start()
    upgrade = [("Upgrade", "websocket")]
    hear = playhead.listener(ask(method="GET", target="/v1/responses", headers=upgrade))
    hear(b'{"type": "session.update"}')
    assert playhead.folder.page.turn == 0
    hear(b'{"type": "response.create"}')
    assert playhead.folder.page.turn == 1
    playhead.listener(ask(method="GET", target="/chat", headers=upgrade))(b'{"type": "x"}')
    assert playhead.folder.page.turn == 1


def test_what_probes_say_is_told_and_kept(start: Callable[[], Playhead]) -> None:
    playhead = start()
    lines = b"missing\ta folder\tis there\nt\t0\t1\t5\nmissing\talone\t\n"
    (playhead.folder.path / "p" / "2.log").write_bytes(lines)
    kept = []
    told = playhead.missed(lambda number, written: kept.append((number, written)))
    assert list(told) == ["a folder: is there", "alone"]
    assert kept == [(2, lines)]
