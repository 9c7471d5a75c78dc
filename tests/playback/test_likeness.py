"""What a replay knows of identifiers and facts."""

import gzip
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from rerail.playback.answers import Refused, Served
from rerail.playback.player import Player
from rerail.playback.report import Containment, End
from rerail.playback.summary import make_report
from rerail.tape.records import RunStarted

Maker = Callable[[], Any]
Ask = Callable[..., Any]

A, B, X, Y = (str(uuid4()) for _ in range(4))


def report(player: Player) -> Any:
    return make_report(
        player, command=["agent"], environment=[], containment=Containment(level="no network"),
        ended=End(status=0), pace="fast", duration_ns=0,
    )  # fmt: skip


def test_a_run_with_its_own_identifiers_is_followed_and_the_report_lists_them(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.request({"session": A, "turn": 1})
    body = f'{{"echo": "{A}"}}'.encode()
    maker.reply([body], head=b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
    maker.call({"session": A, "turn": 2})
    player = Player(maker.finish())
    first = player.answer(ask({"session": X, "turn": 1}))
    assert isinstance(first, Served)
    assert f'{{"echo": "{X}"}}'.encode() in b"".join(piece.data for piece in first.plan.pieces())
    assert isinstance(player.answer(ask({"session": X, "turn": 2})), Served)
    told = report(player)
    assert told.verdict.green
    assert [(rule.name, rule.used) for rule in told.rules] == [("renamed ids", 2)]
    [pair] = told.renamed
    assert (pair.recorded, pair.now, pair.requests) == (A, X, 2)
    assert told.renamed_in_replies == [1]


def test_identifiers_from_replies_are_known_whatever_their_coding(
    tape_maker: Maker, ask: Ask
) -> None:
    maker = tape_maker()
    maker.request({"turn": 1})
    coded = gzip.compress(f"order {A}".encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(coded)}\r\n\r\n"
    maker.reply([coded], head=head.encode())
    maker.call({"order": A})
    player = Player(maker.finish())
    player.answer(ask({"turn": 1}))
    assert isinstance(player.answer(ask({"order": X})), Refused)


def test_so_are_those_of_heads_and_of_arguments(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.request({"turn": 1})
    maker.reply(head=f"HTTP/1.1 200 OK\r\nLocation: /x/{A}\r\nContent-Length: 2\r\n\r\n".encode())
    maker.call({"order": A})
    maker.call({"task": B})
    player = Player(maker.finish(), given=[f"--task={Y}"])
    player.answer(ask({"turn": 1}))
    assert isinstance(player.answer(ask({"order": X})), Refused)
    assert isinstance(player.answer(ask({"task": Y})), Refused)
    assert isinstance(player.answer(ask({"task": X})), Served)


def test_facts_that_differ_are_named_and_counted(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"system": "you are in /home/alice/shop; it is 2026-11-29"})
    maker.call({"system": "you are in /home/alice/shop; it is 2026-11-30"})
    tape = maker.finish()
    facts = {"cwd": "/home/alice/shop", "date": "2026-11-29", "timezone": "UTC+0000"}
    tape = _with_facts(tape, facts)
    player = Player(tape, facts={"cwd": "/srv/shop", "date": "2027-01-05"})
    now = "you are in /srv/shop; it is 2027-01-05"
    assert isinstance(player.answer(ask({"system": now})), Served)
    assert isinstance(player.answer(ask({"system": now})), Refused), "recorded before midnight"
    told = report(player)
    assert [(rule.name, rule.used) for rule in told.rules] == [("fact: cwd", 1), ("fact: date", 1)]


def test_a_run_over_midnight_had_two_dates(tape_maker: Maker, ask: Ask) -> None:
    maker = tape_maker()
    maker.call({"today": "2026-11-30"})
    tape = maker.finish()
    just_before = 86_400 * 10**9 - 2 * 3600 * 10**9 - 1
    facts = {"date": "2026-11-29", "timezone": "EET+0200"}
    player = Player(_with_facts(tape, facts, wall=just_before), facts={"date": "2027-01-05"})
    assert isinstance(player.answer(ask({"today": "2027-01-05"})), Served)


def _with_facts(tape: Any, facts: dict[str, str], wall: int = 0) -> Any:
    """The same tape, begun with these facts."""
    run = tape.run

    class Begun:
        def __getattr__(self, name: str) -> Any:
            return getattr(tape, name)

        @property
        def run(self) -> RunStarted:
            return RunStarted(at=0, wall=wall, run_id=run.run_id, task_id=run.task_id,
                              writer="test", argv=run.argv, cwd=run.cwd, facts=facts)  # fmt: skip

    return Begun()
