"""`rerail show`: what it prints of tapes of every kind."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rerail.tape import records
from rerail.testing.tapes import CHAT, Recording

MakeTape = Callable[..., Recording]
Result = Any
Rerail = Callable[..., Result]
EVENT_STREAM = "Content-Type: text/event-stream\r\n"
JSON = "Content-Type: application/json\r\n"


def fields(result: Result) -> dict[str, str]:
    """The summary's lines in a pipe: a name, a tab, a text."""
    head = result.out.partition("\n\n")[0]
    return dict(line.split("\t", 1) for line in head.splitlines())


def rows(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.out.partition("\n\n")[2].splitlines()]


# The summary.


def test_the_summary_says_what_run_this_was(simple_tape: Path, rerail: Rerail) -> None:
    result = rerail("show", simple_tape)
    said = fields(result)
    assert (result.status, result.err) == (0, "")
    assert said["tape"] == str(simple_tape)
    assert said["id"].startswith("sha256:")
    assert said["state"] == "finished"
    assert (said["run"], said["task"]) == ("run-1", "task-1")
    assert said["command"] == "python3 agent.py"
    assert said["started"] == "2026-09-21 14:13:20.001Z"
    assert said["duration"] == "0.017000"
    assert said["exit"] == "status 0"
    assert said["holds"] == "12 events, 3 exchanges, 1 step"


def test_random_values_that_may_be_keys_are_said_to_be_there(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    tape = make_tape()
    log = b"hello\t{}\ns\t1\ta.py:f:-\nr\t0\t1\tabcd\nr\t0\t1\tef\n"
    digest = tape.writer.blob(tape.redactor.body(log))
    seq = tape.event(records.ProbeLog, process_id=1, content=digest, size=len(log), drawn=2)
    tape.end()
    said = fields(rerail("show", tape.writer.path))
    assert said["secrets"].startswith("2 random values for keys and tokens are kept readable")
    whole = json.loads(rerail("show", tape.writer.path, "--json").out)
    assert whole["random_values_kept"] == 2
    assert rerail("show", tape.writer.path, f"e{seq}", "--raw").out == log.decode()
    assert "p1 was handed times or entropy" in rerail("show", tape.writer.path, "--events").out


def test_each_exchange_has_one_line(simple_tape: Path, rerail: Rerail) -> None:
    assert rows(rerail("show", simple_tape)) == [
        ["r1", "", "+0.002000", "GET", "https://api.example.com/page?q=1", "200",
         "0", "7", "1", "0.003000"],
        ["r2", "s1", "+0.007000", "POST", f"https://api.openai.com{CHAT}", "200",
         "66", "46", "3", "0.005000"],
        ["r3", "", "+0.014000", "PUT", "https://api.example.com:8443/x",
         "no reply: connection reset by peer", "400", "0", "0", "0.001000"],
    ]  # fmt: skip


def test_steps_are_the_model_calls(simple_tape: Path, rerail: Rerail) -> None:
    assert [row[:2] for row in rows(rerail("show", simple_tape, "--steps"))] == [["r2", "s1"]]


def test_the_summary_is_one_json_document(simple_tape: Path, rerail: Rerail) -> None:
    result = rerail("show", simple_tape, "--json")
    page = result.json
    assert (result.status, result.err) == (0, "")
    assert (page["state"], page["status"], page["events"]) == ("finished", 0, 12)
    assert [row["exchange"] for row in page["exchanges"]] == [1, 2, 3]
    assert [row["step"] for row in page["exchanges"]] == [None, 1, None]
    assert page["exchanges"][2]["outcome"] == "no reply: connection reset by peer"
    assert [row["exchange"] for row in rerail("show", simple_tape, "--steps", "--json").json[
        "exchanges"]] == [2]  # fmt: skip


def test_a_signal_is_named(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.end(143, 15)
    assert fields(rerail("show", tape.path))["exit"] == "signal 15 (SIGTERM)"


def test_where_a_tape_came_from_is_said(make_tape: MakeTape, rerail: Rerail) -> None:
    hint = records.Edit(step=3, kind="hint", text="Look again.")
    parent = records.Parent(tape_id="sha256:00", step=3, relation="fork", edits=[hint], turns=5)
    tape = make_tape(parent=parent)
    tape.event(
        records.ClockJumped, before=1_790_000_000_000_000_000, after=1_790_000_001_000_000_000
    )
    tape.end()
    shown = fields(rerail("show", tape.path))
    assert shown["parent"] == "fork of sha256:00, step 3"
    assert shown["put in"] == "from s3 on, a hint: Look again."
    assert shown["budget"] == "5 model calls from there on"
    told = rerail("show", tape.path, "--json").json["parent"]
    assert told["edits"] == [{"step": 3, "kind": "hint", "text": "Look again."}]
    events = rerail("show", tape.path, "--events").out
    assert "from 2026-09-21 14:13:20.000Z, as recorded, to 2026-09-21 14:13:21.000Z" in events


def test_gaps_and_failures_come_before_the_exchanges(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.event(records.CaptureMissing, what="a process outlived the command", detail="pid 7")
    tape.event(
        records.ConnectionFailed, connection_id=1, host="a.example", port=443, phase="tls",
        reason="the certificate has expired", error="CERT", shown="expired",
    )  # fmt: skip
    tape.event(records.TunnelOpened, connection_id=2, host="b.example", port=22, why="not HTTP")
    tape.event(
        records.TunnelClosed, connection_id=2, sent=tape.body(0, "agent", [b"hello"]), received=None
    )
    tape.end()
    said = fields(rerail("show", tape.path))
    assert said["missing"] == "a process outlived the command: pid 7"
    assert said["failed"] == (
        "a.example:443, tls: the certificate has expired (CERT); the agent was given expired"
    )
    assert said["opaque"] == "b.example:22, not HTTP; sent 5 B, received 0 B, complete"


def test_an_equal_failure_is_said_once(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    for number in range(3):
        tape.event(
            records.ConnectionFailed, connection_id=number, host="a.example", port=443,
            phase="resolve", reason="unknown name",
        )  # fmt: skip
    tape.end()
    said = fields(rerail("show", tape.path))
    assert said["failed"] == "a.example:443, resolve: unknown name (3 times)"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ("cut", "200, cut after 20 bytes"),
        ("reset", "200, reset after 20 bytes"),
        ("agent_closed", "200, the agent went away after 20 bytes"),
        ("timeout", "200, timed out after 20 bytes"),
    ],
)
def test_a_broken_reply_says_how_it_broke(
    make_tape: MakeTape, rerail: Rerail, ended: records.BodyEnd, said: str
) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [b"x" * 20], ended=ended)
    tape.end()
    assert rows(rerail("show", tape.path))[0][5] == said
    assert f"({said.removeprefix('200, ').removesuffix(' after 20 bytes')}: " in rerail(
        "show", tape.path, "r1").out  # fmt: skip


def test_attempts_at_one_call_share_its_step(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.chat(1)
    tape.reply(1, [b"busy"], status="529 Overloaded")
    tape.chat(2)
    tape.reply(2, [b"{}"])
    tape.end()
    assert [row[1] for row in rows(rerail("show", tape.path))] == ["s1", "s1 try 2"]
    assert "attempt 2 of 2 (r1, r2)" in rerail("show", tape.path, "s1").out


def test_a_title_call_is_named_and_has_no_number(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tools = [{"type": "function", "function": {"name": "read"}}]
    main = [{"role": "system", "content": "You mend."}, {"role": "user", "content": "Mend it"}]
    title = [{"role": "system", "content": "Name a title."}, {"role": "user", "content": "It"}]
    for number, asked in enumerate(
        ({"messages": title}, {"messages": main, "tools": tools}), start=1
    ):
        tape.request(
            number, json.dumps(asked).encode(), method="POST", target=CHAT, host="api.openai.com"
        )
        tape.reply(number, [b"{}"])
    tape.end()
    assert [row[1] for row in rows(rerail("show", tape.path, "--steps"))] == ["title", "s1"]
    assert "2 exchanges, 1 step" in rerail("show", tape.path).out
    found = rerail("show", tape.path, "--json").json["exchanges"]
    assert [(row["step"], row["lane"]) for row in found] == [(None, "title"), (1, None)]
    assert "r1  title  POST" in rerail("show", tape.path, "r1").out


def test_the_turns_of_a_websocket_are_steps(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1, target="/v1/responses", headers="Upgrade: websocket\r\n", host="api.openai.com")
    tape.reply_head(1, status="101 Switching Protocols", headers="Upgrade: websocket\r\n")
    tape.event(records.WsOpened, exchange_id=1)
    tape.message(1, "agent", b'{"type":"response.create","generate":false}')
    for _ in range(3):
        tape.message(1, "agent", b'{"type":"response.create"}')
    tape.event(records.WsClosed, exchange_id=1, sender="agent", code=1000)
    tape.chat(2)
    tape.reply(2, [b"{}"])
    tape.end()
    assert [row[1] for row in rows(rerail("show", tape.path))] == ["s1-s3", "s4"]
    assert "r1  s1-s3  GET" in rerail("show", tape.path, "s2").out


def test_an_agent_that_left_after_the_last_event_left_a_whole_reply(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    tape = make_tape()
    tape.chat(1)
    stream = {"headers": "Content-Type: text/event-stream\r\n", "ended": "agent_closed"}
    tape.reply(1, [b"data: {}\n\n", b"data: [DONE]\n\n"], **stream)  # type: ignore[arg-type]
    tape.chat(2, "next")
    tape.reply(2, [b"data: {}\n\n"], **stream)  # type: ignore[arg-type]
    tape.end()
    first, second = rows(rerail("show", tape.path))
    assert (first[5], second[5]) == ("200", "200, the agent went away after 10 bytes")
    found = rerail("show", tape.path, "--json").json["exchanges"]
    assert [row["complete"] for row in found] == [True, False]
    assert "the agent went away" in rerail("show", tape.path, "--events").out, "the fact stays"


# A tape whose recorder died, and one that is being recorded.


@pytest.fixture
def lost_tape(make_tape: MakeTape, tmp_path: Path) -> Path:
    tape = make_tape()
    for exchange in range(1, 7):
        tape.chat(exchange, f"turn {exchange}")
        tape.reply(exchange, [b"{}"], headers=JSON)
    tape.chat(7, "turn 7")
    tape.reply_head(7, headers=EVENT_STREAM)
    tape.half_body(7, "origin", [b"data: 1\n\n", b"data: 2\n\n", b"data: " + b"3" * 1210])
    return tape.leave(tmp_path / "lost.tape")


def test_a_lost_tape_says_so_plainly(lost_tape: Path, rerail: Rerail) -> None:
    result = rerail("show", lost_tape)
    said = fields(result)
    assert result.status == 0
    assert said["state"].startswith("lost: its recorder died (run.lost)")
    assert "truncation is not excluded" in said["state"]
    assert said["unfinished"] == (
        "the half reply of r7 is there up to its last committed chunk (1 234 bytes)"
    )
    assert "exit" not in said
    assert rows(result)[6][5:] == ["200, unfinished after 1 234 bytes", "67", "1234", "3", ""]
    assert rerail("show", lost_tape, "--json").json["unfinished"] == [
        {"exchange": 7, "side": "origin", "size": 1234}
    ]


def test_a_half_reply_is_shown_and_written_as_far_as_it_came(
    lost_tape: Path, rerail: Rerail
) -> None:
    shown = rerail("show", lost_tape, "r7")
    assert "1\n" in shown.out and "2\n" in shown.out and "333 (unfinished)" in shown.out
    assert "the half reply of r7 is there" in shown.out
    assert (
        rerail("show", lost_tape, "r7", "--raw").out == "data: 1\n\ndata: 2\n\ndata: " + "3" * 1210
    )
    content = rerail("show", lost_tape, "r7", "--json").json["reply_content"]
    assert [event["complete"] for event in content["events"]] == [True, True, False]


def test_a_half_request_is_shown(make_tape: MakeTape, rerail: Rerail, tmp_path: Path) -> None:
    tape = make_tape()
    tape.event(
        records.HttpRequest, exchange_id=1, connection_id=1, scheme="http", host="h", port=80,
        head=b"POST / HTTP/1.1\r\n\r\n", unfinished=True,
    )  # fmt: skip
    tape.half_body(1, "agent", [b"half a"])
    lost = tape.leave(tmp_path / "lost.tape")
    assert "the half request of r1" in fields(rerail("show", lost))["unfinished"]
    assert rows(rerail("show", lost))[0][5:7] == ["unfinished after 6 bytes", "6"]
    assert "half a\n(the half request" in rerail("show", lost, "r1").out
    assert rerail("show", lost, "r1", "--raw", "--request").out == "half a"


def test_a_tape_being_recorded_is_live(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1)
    tape.writer.flush()
    said = fields(rerail("show", tape.path))
    assert said["state"] == "live: it is being recorded now"
    assert said["id"] == "(not yet)"
    assert rows(rerail("show", tape.path))[0][5] == "unfinished"


# Events.


def test_each_event_has_one_line(simple_tape: Path, rerail: Rerail) -> None:
    lines = [line.split("\t") for line in rerail("show", simple_tape, "--events").lines]
    assert [line[0] for line in lines] == [f"e{number}" for number in range(1, 13)]
    assert lines[5][1:] == [
        "+0.007000", "http.request", f"r2 POST https://api.openai.com{CHAT}, 66 B in 1 chunk"
    ]  # fmt: skip
    assert lines[7][3] == "r2 46 B in 3 chunks, complete"
    assert lines[9][2:] == ["http.failed", "r3 no reply, reset: connection reset by peer"]


def test_events_are_one_json_document(simple_tape: Path, rerail: Rerail) -> None:
    events = rerail("show", simple_tape, "--events", "--json").json
    assert [event["event"] for event in events] == list(range(1, 13))
    assert events[7]["body"]["chunks"] == [[16, 10000000], [10, 11000000], [20, 12000000]]
    assert events[7]["body"]["digest"].startswith("sha256:")


@pytest.mark.parametrize("number", ["e6", "6"])
def test_one_event_is_shown_with_its_evidence(
    simple_tape: Path, rerail: Rerail, number: str
) -> None:
    shown = rerail("show", simple_tape, number).out
    assert shown.startswith("e6  http.request\n")
    assert "exchange_id: 2\n" in shown
    assert '"content": "hello"' in shown


def test_one_event_is_one_json_document(simple_tape: Path, rerail: Rerail) -> None:
    event = rerail("show", simple_tape, "e8", "--json").json
    assert (event["event"], event["kind"]) == (8, "http.reply.body")
    assert event["evidence"]["events"][0]["data"] == '{"n": 1}'


def test_every_kind_of_event_can_be_shown(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape(environment={"A": "1"}, facts={"host": "h"})
    tape.event(records.ProcessStarted, process_id=1, argv=["a", "b c"], cwd="/")
    tape.event(records.CaptureMissing, what="x")
    tape.event(
        records.ConnectionFailed, connection_id=1, host="h", port=1, phase="connect", reason="no"
    )
    tape.event(records.HttpRequestBody, exchange_id=1, body=tape.body(1, "agent", [b"late"]))
    tape.event(records.HttpReplyHead, exchange_id=1, head=b"HTTP/1.1 103 Early Hints\r\n\r\n")
    tape.event(records.WsOpened, exchange_id=1)
    tape.event(records.WsClosed, exchange_id=1, sender="origin", code=1006, reason="cut")
    tape.event(records.TunnelOpened, connection_id=1, host="h", port=1, why="w")
    tape.event(
        records.TunnelClosed, connection_id=1, sent=tape.body(0, "agent", [b"out"]),
        received=tape.body(0, "origin", [b"in"]),
    )  # fmt: skip
    tape.event(
        records.ProcessOutput, process_id=2, stream="stdout", body=tape.body(0, "origin", [b"said"])
    )
    tape.event(records.ProcessSignalled, process_id=2, signal=15)
    tape.event(records.ProcessEnded, process_id=2, status=0, unknown=True)
    message = tape.redactor.body(b'{"jsonrpc":"2.0"}\n')
    tape.event(
        records.McpMessage, process_id=2, sender="agent", content=tape.writer.blob(message), size=18
    )
    tape.event(records.RunLost, reason="the recorder died")
    tape.event(records.RunEnded, status=1, reason="budget")
    tape.writer.close()
    for number in range(1, 17):
        assert rerail("show", tape.path, f"e{number}").status == 0
        assert rerail("show", tape.path, f"e{number}", "--json").json["event"] == number
        assert rerail("show", tape.path, f"e{number}", "--raw").status == 0
    assert "── sent  3 B in 1 chunk\n\nout\n" in rerail("show", tape.path, "e10").out
    assert rerail("show", tape.path, "e10", "--raw").out == "in"
    assert rerail("show", tape.path, "e10", "--raw", "--request").out == "out"
    assert rerail("show", tape.path, "e10", "--json").json["sent_content"]["text"] == "out"
    assert rerail("show", tape.path, "e11", "--raw").out == "said"
    assert "p2 was sent signal 15 (SIGTERM)" in rerail("show", tape.path, "e12").out
    assert rerail("show", tape.path, "e14", "--raw").out == '{"jsonrpc":"2.0"}\n'
    assert "environment.A: 1\n" in rerail("show", tape.path, "e1").out


def a_child(make_tape: MakeTape) -> Recording:
    """A tape with a child that said something, and one that could not be started."""
    tape = make_tape()
    pipes = {"stdin": "inherited", "stdout": "pipe", "stderr": "stdout"}
    tape.event(records.ProcessStarted, process_id=2, argv=["git status; exit 1"], cwd="/work",
               parent_process_id=1, shell=True, streams=pipes)  # fmt: skip
    tape.event(records.ProcessOutput, process_id=2, stream="stdout",
               body=tape.body(0, "origin", [b"on branch ", b"main\n"]))  # fmt: skip
    tape.event(records.ProcessEnded, process_id=2, status=1)
    tape.event(records.ProcessStarted, process_id=3, argv=["nothing"], cwd="/work",
               parent_process_id=1, streams=pipes, failed="ENOENT")  # fmt: skip
    tape.event(records.ProcessStarted, process_id=4, argv=["python"], cwd="/work",
               parent_process_id=2)  # fmt: skip
    tape.event(records.ProcessStarted, process_id=5, argv=["date"], cwd="/work",
               parent_process_id=4, streams=pipes)  # fmt: skip
    tape.writer.close()
    return tape


def test_children_have_one_line_each_those_within_others_none(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    tape = a_child(make_tape)
    result = rerail("show", tape.path)
    rows = [line.split("\t") for line in result.lines if line.startswith("p")]
    assert [row[0] for row in rows if row[0] != "parent"] == ["p2", "p3"]
    assert rows[0][2:7] == ["git status; exit 1", "status 1", "0", "15", "0"]
    assert rows[1][2:4] == ["nothing", "not started: ENOENT"]
    assert "3 children" in result.out
    listed = rerail("show", tape.path, "--json").json["children"]
    assert [child["process"] for child in listed] == [2, 3, 5]
    assert listed[0]["sizes"] == {"stdin": 0, "stdout": 15, "stderr": 0}


def test_a_child_is_shown_whole(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = a_child(make_tape)
    out = rerail("show", tape.path, "p2").out
    assert "p2  git status; exit 1\nstatus 1; began at" in out
    assert "stderr: stdout\nstdin: inherited\n" in out
    assert "── stdout  e3  15 B in 2 chunks\n\non branch main\n" in out
    assert rerail("show", tape.path, "p2", "--raw").out == "on branch main\n"
    values = rerail("show", tape.path, "p2", "--json").json
    assert values["contents"]["stdout"]["text"] == "on branch main\n"
    assert [event["kind"] for event in values["events"]] == [
        "process.started", "process.output", "process.ended",
    ]  # fmt: skip


def test_what_was_not_kept_of_a_child_is_said(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = a_child(make_tape)
    result = rerail("show", tape.path, "p2", "--raw", "--request")
    result.assert_complaint(2, "the stdin of p2 is not on the tape: it was inherited")
    result = rerail("show", tape.path, "p9")
    result.assert_complaint(2, "there is no child p9 on this tape", "it has children p2 to p5")


class Later(records.Event, kw_only=True, tag="later.kind"):
    """An event of a version to come."""

    what: str
    more: bytes


def test_an_event_of_a_later_version_is_shown_as_it_is(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.event(Later, what="new", more=b"\xff")
    tape.end()
    assert "later.kind\t(a kind that this version" in rerail("show", tape.path, "--events").out
    assert "later.kind" in rerail("show", tape.path, "e2").out
    stored = rerail("show", tape.path, "e2", "--json").json["stored"]
    assert (stored["what"], stored["more"]) == ("new", "/w==")


# One exchange.


def test_heads_are_shown_as_they_were(simple_tape: Path, rerail: Rerail) -> None:
    shown = rerail("show", simple_tape, "r2").out
    assert "POST /v1/chat/completions HTTP/1.1\nHost: api.openai.com\nContent-Type: appl" in shown
    assert "Authorization: Bearer ⟦redacted:authorization:" in shown
    assert "HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n" in shown


def test_json_is_indented_and_its_numbers_are_as_they_were(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, ['{"a":1.0,"b":1e5,"c":"数"}'.encode()], headers=JSON)
    tape.end()
    assert '{\n  "a": 1.0,\n  "b": 1e5,\n  "c": "数"\n}\n' in rerail("show", tape.path, "r1").out


@pytest.mark.parametrize(
    ("coding", "coded"),
    [("gzip", gzip.compress(b'{"a":1}')), ("zstd", zstandard.compress(b'{"a":1}'))],
)
def test_content_codings_are_undone(
    make_tape: MakeTape, rerail: Rerail, coding: str, coded: bytes
) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [coded], headers=f"{JSON}Content-Encoding: {coding}\r\n")
    tape.end()
    assert '{\n  "a": 1\n}\n' in rerail("show", tape.path, "r1").out
    content = rerail("show", tape.path, "r1", "--json").json["reply_content"]
    assert (content["coding"], content["text"]) == (coding, '{"a":1}')
    assert rerail("show", tape.path, "r1", "--raw").out.encode("utf-8", "surrogateescape") == coded


def test_a_coding_that_is_unknown_or_broken_is_said(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    cases = [
        ("rot13", b"abc"),
        ("gzip", b"no gzip at all"),
        ("gzip", gzip.compress(b"x" * 99)[:20]),
    ]
    for exchange, (coding, body) in enumerate(cases, 1):
        tape.request(exchange)
        tape.reply(exchange, [body], headers=f"Content-Encoding: {coding}\r\n")
    tape.end()
    assert "(the coding rot13 cannot be undone here)" in rerail("show", tape.path, "r1").out
    assert "(damaged: from here on it is not gzip)" in rerail("show", tape.path, "r2").out
    assert "(cut: the gzip coding has no end)" in rerail("show", tape.path, "r3").out
    assert rerail("show", tape.path, "r1", "--json").json["reply_content"]["base64"] == "YWJj"


def test_a_stream_is_shown_event_by_event_with_times(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.chat(1)
    pieces = [b"event: start\ndata: a\n\n", b"data: b\n", b"data: c\n\n"]
    tape.reply(1, pieces, headers=EVENT_STREAM)
    tape.end()
    shown = rerail("show", tape.path, "r1").lines
    assert shown[-2:] == ["     +2 ms  [start] a", "     +4 ms  b\\nc"]


@pytest.mark.parametrize("flushed", [True, False])
def test_a_coded_stream_has_the_times_of_what_its_chunks_decode_to(
    make_tape: MakeTape, rerail: Rerail, flushed: bool
) -> None:
    import zlib

    coder = zlib.compressobj(wbits=31)
    how = zlib.Z_SYNC_FLUSH if flushed else zlib.Z_NO_FLUSH
    pieces = [
        coder.compress(b"data: %d\n\n" % number) + (coder.flush(how) if flushed else b"")
        for number in range(3)
    ]
    pieces.append(coder.flush())
    tape = make_tape()
    tape.chat(1)
    headers = f"{EVENT_STREAM}Content-Encoding: gzip\r\n"
    tape.reply(1, [piece for piece in pieces if piece], headers=headers)
    tape.end()
    events = rerail("show", tape.path, "r1", "--json").json["reply_content"]["events"]
    assert [event["data"] for event in events] == ["0", "1", "2"]
    times = [event["at_ns"] for event in events]
    assert times == sorted(times)
    assert (len(set(times)) == 3) == flushed


def test_a_websocket_is_shown_message_by_message(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1, target="/v1/realtime", headers="Upgrade: websocket\r\n")
    tape.reply_head(1, status="101 Switching Protocols", headers="Upgrade: websocket\r\n")
    tape.event(records.WsOpened, exchange_id=1, extensions="permessage-deflate")
    tape.message(1, "agent", b'{"type":"response.create"}')
    tape.message(1, "origin", bytes(range(40)), "binary")
    tape.message(1, "origin", b"", "ping")
    tape.event(records.WsClosed, exchange_id=1, sender="agent", code=1000, reason="done")
    tape.end()
    assert rows(rerail("show", tape.path))[0][1:2] == ["s1"]
    assert rows(rerail("show", tape.path))[0][5:9] == [
        "101, 3 messages, closed 1000",
        "0",
        "40",
        "2",
    ]
    assert rerail("show", tape.path, "r1").lines[-5:] == [
        "     +2 ms  is a WebSocket now, permessage-deflate",
        '     +3 ms  agent  text       26 B  {"type":"response.create"}',
        "     +4 ms  origin binary     40 B  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f …",
        "     +5 ms  origin ping        0 B  ",
        "     +6 ms  agent closed, 1000 done",
    ]
    messages = rerail("show", tape.path, "r1", "--json").json["websocket"]
    assert messages[1]["evidence"]["text"] == '{"type":"response.create"}'
    assert rerail("show", tape.path, "e5", "--raw").out == '{"type":"response.create"}'
    rerail("show", tape.path, "r1", "--raw").assert_complaint(2, "r1 is a WebSocket", "--events")


def test_interim_replies_and_trailers_are_shown(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply_head(1, status="103 Early Hints", headers="Link: </x>\r\n")
    tape.reply(1, [b"body"], framing="chunked", trailers=b"X-Sum: 1\r\n")
    tape.end()
    shown = rerail("show", tape.path, "r1").out
    assert "── interim reply  e3  after 1 ms\nHTTP/1.1 103 Early Hints\nLink: </x>\n" in shown
    assert shown.endswith("── trailers\nX-Sum: 1\n")


def test_binary_is_an_excerpt_in_hexadecimal(simple_tape: Path, rerail: Rerail) -> None:
    shown = rerail("show", simple_tape, "r3").out
    assert "00000000  00 01 02 ff 00 01" in shown
    assert "(binary: the first 256 of 400 bytes)" in shown


def test_a_large_body_is_read_only_at_its_beginning(
    make_tape: MakeTape, rerail: Rerail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerail.llm.bodies.LOOKED_INTO", 10)
    monkeypatch.setattr("rerail.cli.shown.bodies.LOOKED_INTO", 10)
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [b"0123456789abcdef"])
    tape.end()
    shown = rerail("show", tape.path, "r1").out
    assert "0123456789\n(the beginning of 16 bytes; `rerail show" in shown
    assert "r1 --raw` writes all of them)" in shown
    content = rerail("show", tape.path, "r1", "--json").json["reply_content"]
    assert content["omitted"] is True and "text" not in content


# The exact bytes.


def test_raw_writes_exactly_the_body(make_tape: MakeTape, rerail: Rerail) -> None:
    body = bytes(range(256)) * 10
    tape = make_tape()
    tape.request(1, b"\x00\r\n\xff", method="POST")
    tape.reply(1, [body[:1000], body[1000:]])
    tape.request(2)
    tape.reply(2, [], status="204 No Content")
    tape.end()

    def raw(*arguments: str) -> bytes:
        result = rerail("show", tape.path, *arguments, "--raw")
        assert (result.status, result.err) == (0, "")
        return result.out.encode("utf-8", "surrogateescape")

    assert raw("r1") == raw("e4") == body
    assert raw("r1", "--request") == raw("e2") == b"\x00\r\n\xff"
    assert raw("e3") == b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    assert raw("r2") == raw("r2", "--request") == b""
    assert b"run-1" in raw("e1")


def test_raw_of_an_exchange_without_a_reply_says_why(simple_tape: Path, rerail: Rerail) -> None:
    rerail("show", simple_tape, "r3", "--raw").assert_complaint(
        2, "r3 has no reply: no reply: connection reset by peer", "rerail show TAPE r3"
    )


# What a stranger's tape may hold.


def test_control_characters_of_a_stranger_are_neutralised(
    make_tape: MakeTape, rerail: Rerail
) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\u202e"
    tape = make_tape(argv=["sh", "-c", evil], cwd=evil, run_id=evil, capture={evil: evil})
    tape.request(1, evil.encode(), target=f"/{evil}", headers=f"X: {evil}\r\n", host=evil)
    tape.reply(1, [f"data: {evil}\n\nx: {evil}".encode()], headers=EVENT_STREAM)
    tape.event(records.CaptureMissing, what=evil, detail=evil)
    tape.event(
        records.ConnectionFailed, connection_id=1, host=evil, port=1, phase="tls", reason=evil,
        error=evil, shown=evil,
    )  # fmt: skip
    tape.message(1, "agent", evil.encode())
    tape.event(records.WsClosed, exchange_id=1, sender="agent", code=1, reason=evil)
    tape.end()
    views = ([], ["--events"], ["--json"], ["--events", "--json"], ["r1"], ["r1", "--json"])
    numbers = [[f"e{number}"] for number in range(1, 9)]
    for view in (*views, *numbers):
        shown = rerail("show", tape.path, *view)
        assert shown.status == 0
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown.out + shown.err), view


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "zlib", "nonsense", ""])
def test_a_charset_that_is_no_charset_is_read_as_utf8(
    make_tape: MakeTape, rerail: Rerail, charset: str
) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, ["text ü".encode()], headers=f"Content-Type: text/plain; charset={charset}\r\n")
    tape.end()
    assert rerail("show", tape.path, "r1").lines[-1] == "text ü"


def test_another_charset_is_read_by_it(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [b"\xfc"], headers="Content-Type: text/plain; charset=ISO-8859-1\r\n")
    tape.end()
    assert rerail("show", tape.path, "r1").lines[-1] == "ü"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a":1,"a":2}', b"1e999"])
def test_json_that_cannot_be_indented_is_shown_as_it_is(
    make_tape: MakeTape, rerail: Rerail, body: bytes
) -> None:
    tape = make_tape()
    tape.request(1)
    tape.reply(1, [body], headers=JSON)
    tape.end()
    assert rerail("show", tape.path, "r1").lines[-1] == body.decode()


# Numbers and options.


@pytest.mark.parametrize(
    ("number", "what", "hint"),
    [
        ("r9", "there is no exchange r9", "it has exchanges r1 to r3"),
        ("e13", "there is no event e13", "it has events e1 to e12"),
        ("99", "there is no event e99", "it has events e1 to e12"),
        ("s2", "there is no step s2", "it has only step s1"),
        ("x1", "`x1` is no number", "write e12"),
    ],
)
def test_an_unknown_number_is_answered_with_what_is_there(
    simple_tape: Path, rerail: Rerail, number: str, what: str, hint: str
) -> None:
    for more in ([], ["--json"], ["--raw"]):
        rerail("show", simple_tape, number, *more).assert_complaint(2, what, hint)


@pytest.mark.parametrize(
    "arguments",
    [["--raw"], ["--request"], ["r1", "--request"], ["r1", "--raw", "--json"], ["r1", "--steps"],
     ["r1", "--follow"], ["--steps", "--events"], ["--events", "--follow"]],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(
    simple_tape: Path, rerail: Rerail, arguments: list[str]
) -> None:
    rerail("show", simple_tape, *arguments).assert_complaint(2, "")


def test_json_documents_have_no_progress_beside_them(simple_tape: Path, rerail: Rerail) -> None:
    for view in (["--json"], ["r1", "--json"], ["--events", "--json"]):
        result = rerail("show", simple_tape, *view)
        json.loads(result.out)
        assert result.err == ""


def test_a_complaint_that_quotes_a_tape_is_neutralised(make_tape: MakeTape, rerail: Rerail) -> None:
    tape = make_tape()
    tape.request(1)
    tape.event(records.HttpFailed, exchange_id=1, ended="reset", reason="\x1b]0;owned\x07")
    tape.end()
    result = rerail("show", tape.path, "r1", "--raw")
    result.assert_complaint(2, r"r1 has no reply: no reply: \x1b]0;owned\x07")


def test_damage_is_told_beside_what_can_be_read(
    make_tape: MakeTape, rerail: Rerail, tmp_path: Path
) -> None:
    tape = make_tape()
    for exchange in range(1, 301):
        tape.request(exchange)
        tape.reply(exchange, [b"reply %d" % exchange])
    tape.end()
    with sqlite3.connect(tape.path) as connection:
        connection.execute("DELETE FROM event WHERE seq = 100")
        connection.execute("DELETE FROM blob WHERE id = 300")
    connection.close()
    result = rerail("show", tape.path)
    assert result.status == 1
    assert "holds\t" in result.out
    assert [row[0] for row in rows(result)][-1] == "r300"
    assert "event 100" in result.err
    assert result.err.splitlines()[-1].startswith("hint: see all that is wrong with `rerail verify")
    whole = rerail("show", tape.path, "r300")
    assert whole.status == 1
    assert "HTTP/1.1 200 OK" in whole.out
    assert "(cannot be shown: there is no content" in whole.out
    page = rerail("show", tape.path, "r300", "--json")
    assert page.status == 1
    assert "there is no content" in page.json["reply_content"]["damage"]
    assert rerail("show", tape.path, "r299", "--raw").out == "reply 299"
    assert rerail("show", tape.path, "r300", "--raw").status == 1
