"""A recorder that is killed at any moment: nothing that was committed is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

from rerail.tape.lock import being_written
from rerail.tape.reader import Tape
from rerail.tape.repair import repair
from rerail.tape.seal import verify

RECORDER = """
import sys
from pathlib import Path
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.records import HttpReplyBody, HttpReplyHead, HttpRequest, RunStarted
from rerail.tape.writer import TapeWriter

writer = TapeWriter.create(Path(sys.argv[1]))
append = lambda event, **how: writer.append(CleanRecord(event), **how)
append(RunStarted(at=0, wall=0, run_id="r", task_id="t", writer="w", argv=[], cwd="/"))
at = 0
for exchange_id in range(1, 10_000):
    append(HttpRequest(at=at, wall=at, exchange_id=exchange_id, connection_id=1, scheme="http",
                       host="h", port=80, head=b"GET / HTTP/1.1\\r\\n\\r\\n"), urgent=True)
    seq = append(HttpReplyHead(at=at, wall=at, exchange_id=exchange_id,
                               head=b"HTTP/1.1 200 OK\\r\\n\\r\\n"))
    body = writer.body(exchange_id=exchange_id, side="origin", lane="lane")
    for number in range(20):
        at += 1_000_000
        body.write(CleanBytes(b"chunk %05d of %05d\\n" % (number, exchange_id)), at=at)
        if number % 5 == exchange_id % 5:
            writer.flush()
            print(seq, exchange_id, number, flush=True)
    append(HttpReplyBody(at=at, wall=at, exchange_id=exchange_id,
                         body=body.finish(framing="close")), urgent=True)
"""


def killed_recorder(path: Path, after: int) -> tuple[int, int, int]:
    """Kill a recorder once it has told so many commits; gives the last that it told."""
    command = [sys.executable, "-c", RECORDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        told = [recorder.stdout.readline() for _ in range(after)]
        assert being_written(path)
        recorder.kill()
        # What was told before the kill came was committed before it came.
        told += [line for line in recorder.stdout if line.endswith("\n")]
        recorder.wait()
    seq, exchange_id, number = map(int, told[-1].split())
    return seq, exchange_id, number


@pytest.mark.parametrize("after", [1, 2, 7, 16, 61])
def test_nothing_that_was_committed_is_lost(tmp_path: Path, after: int) -> None:
    path = tmp_path / "x.tape"
    seq, exchange_id, number = killed_recorder(path, after)
    with Tape.open(path) as tape:
        assert tape.state == "lost"
        assert tape.last_seq >= seq
        assert verify(tape).intact
        events = list(tape.events())
        expected = b"".join(b"chunk %05d of %05d\n" % (n, exchange_id) for n in range(20))
        half = {body.exchange_id: body.content() for body in tape.unfinished()}
        whole = [event for event in events if getattr(event, "body", None) is not None]
        if exchange_id in half:
            content = half[exchange_id]
        else:
            content = next(
                tape.blob(event.body.digest)  # type: ignore[attr-defined]
                for event in whole
                if getattr(event, "exchange_id", 0) == exchange_id
            )
        assert expected.startswith(content)
        assert len(content) >= (number + 1) * len(b"chunk 00000 of 00000\n")
    result = repair(path, tmp_path / "new.tape")
    assert result.lost == ()
    with Tape.open(tmp_path / "new.tape") as tape:
        assert verify(tape).intact
        assert tape.unfinished() == []


CLOSER = """
import sys
from pathlib import Path
from rerail.tape.clean import CleanBytes, CleanRecord
from rerail.tape.records import CaptureMissing, RunEnded, RunStarted
from rerail.tape.writer import TapeWriter

writer = TapeWriter.create(Path(sys.argv[1]))
append = lambda event: writer.append(CleanRecord(event))
append(RunStarted(at=0, wall=0, run_id="r", task_id="t", writer="w", argv=[], cwd="/"))
for number in range(600):
    content = b"".join(b"%d " % (number * n * 7919) for n in range(200))
    writer.blob(CleanBytes(content), lane=f"lane {number % 5}")
    append(CaptureMissing(at=number, wall=number, what=f"thing {number}"))
append(RunEnded(at=700, wall=700, status=0))
writer.flush()
print("closing", flush=True)
writer.close()
"""


@pytest.mark.parametrize("turns", [0, 20_000, 100_000, 200_000, 400_000, 600_000, 900_000])
def test_a_recorder_killed_while_it_closes_loses_nothing(tmp_path: Path, turns: int) -> None:
    path = tmp_path / "x.tape"
    command = [sys.executable, "-c", CLOSER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "closing\n"
        for _ in range(turns):
            pass
        recorder.kill()
        recorder.wait()
    with Tape.open(path) as tape:
        assert tape.state == "finished"
        assert tape.last_seq == 602
        assert verify(tape).intact
        assert all(tape.blob(digest) for digest in tape.evidence.digests())
